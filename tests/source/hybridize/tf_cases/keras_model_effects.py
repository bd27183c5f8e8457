# A model that counts its calls in Python.
#
# Net.call: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
        self.calls = 0

    def call(self, x):
        self.calls += 1
        return self.dense(x)


Net()(tf.ones([2, 3]))
