# Layers in a list, applied in a loop.
#
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self, depth):
        super().__init__()
        self.blocks = [tf.keras.layers.Dense(3, kernel_initializer="ones") for _ in range(depth)]

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


Net(2)(tf.ones([2, 3]))
