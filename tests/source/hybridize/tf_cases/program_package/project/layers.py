# Affine.build: ~tensor ~primitive ~effects ~computes -> ~
# Affine.call: tensor computes -> to_graph
import tensorflow as tf


class Affine(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(int(shape[-1]), self.units), initializer="ones")

    def call(self, x):
        return x @ self.kernel
