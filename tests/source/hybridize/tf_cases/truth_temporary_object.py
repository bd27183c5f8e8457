# The object is gone before the method runs: tf.function holds it only weakly.
#
# Net.f: tensor computes -> unsafe
import tensorflow as tf


class Net:
    def __init__(self):
        self.w = tf.constant(2.0)

    def f(self, x):
        return x * self.w


Net().f(tf.constant(1.0))
