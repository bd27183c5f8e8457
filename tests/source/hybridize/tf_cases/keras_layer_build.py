# A layer that makes its weights in `build`: what Keras does there is no effect of the caller.
#
# Linear.__init__: ~effects ~primitive -> ~
# Linear.build: ~tensor ~primitive ~effects ~computes -> ~
# Linear.call: tensor computes -> to_graph
# f: tensor computes -> to_graph
import tensorflow as tf


class Linear(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, x):
        return tf.matmul(x, self.w) + self.b


linear = Linear(2)


def f(x):
    return linear(x) * 2.0


f(tf.ones([1, 3]))
