# A hybrid method.
#
# Net.f: hybrid tensor computes -> add_signature
import tensorflow as tf


class Net:
    @tf.function
    def f(self, x):
        return x * 2.0


Net().f(tf.constant([1.0]))
