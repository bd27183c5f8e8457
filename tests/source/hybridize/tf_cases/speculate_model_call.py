# `call` of a model that nobody calls.
#
# Net.__init__: ~effects ~computes -> ~
# Net.call: tensor assumed ~primitive computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)
