# The layer has the effect; so has the model that calls it.
#
# Noisy.call: tensor effects computes -> no (side_effects)
# Net.call: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Noisy(tf.keras.layers.Layer):
    def call(self, x):
        print("noisy")
        return x * 2.0


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.noisy = Noisy()

    def call(self, inputs):
        return self.noisy(inputs) + 1.0


Net()(tf.ones([2, 3]))
