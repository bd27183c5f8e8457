# A layer that counts its calls in Python.
# Counting.__init__: ~effects -> ~
# Counting.call: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Counting(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.calls = 0
    def call(self, x):
        self.calls += 1
        return x * 2.0
Counting()(tf.ones([2]))
