# A layer of our own inside a model of our own.
#
# Scale.call: tensor computes -> to_graph
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def call(self, x):
        return x * 2.0


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def call(self, inputs):
        return self.scale(inputs) + 1.0


Net()(tf.ones([2, 3]))
