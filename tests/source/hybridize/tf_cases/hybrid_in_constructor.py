# A method that the constructor replaces by its hybrid self.
#
# Net.__init__: ~effects ~computes -> ~
# Net.step: hybrid tensor computes -> ~
import tensorflow as tf


class Net:
    def __init__(self):
        self.w = tf.Variable(2.0)
        self.step = tf.function(self.step)

    def step(self, x):
        return x * self.w


net = Net()
net.step(tf.constant(1.0))
