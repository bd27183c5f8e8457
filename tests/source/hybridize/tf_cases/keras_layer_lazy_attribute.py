# An attribute that the first call fills in.
#
# Lazy.call: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Lazy(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.width = None

    def call(self, x):
        if self.width is None:
            self.width = 3
        return x * float(self.width)


Lazy()(tf.ones([2, 3]))
