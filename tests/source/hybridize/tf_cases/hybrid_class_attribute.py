# A class attribute that is the hybrid form of a method; and a hybrid lambda.
#
# Net.f: hybrid tensor computes -> ~
import tensorflow as tf


class Net:
    def f(self, x):
        return x * 2.0

    fast = tf.function(f)


net = Net()
net.fast(tf.constant(1.0))
double = tf.function(lambda x: x * 2.0)
double(tf.constant(1.0))
