# A custom cell in keras.layers.RNN.
#
# Cell.__init__: ~effects ~primitive -> ~
# Cell.build: ~tensor ~primitive ~effects ~computes -> ~
# Cell.call: ~tensor ~primitive computes -> ~
# run: tensor computes -> to_graph
import tensorflow as tf


class Cell(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.state_size = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="ones")

    def call(self, x, states):
        h = tf.tanh(tf.matmul(x, self.w) + states[0])
        return h, [h]


rnn = tf.keras.layers.RNN(Cell(3))


def run(x):
    return rnn(x) * 2.0


run(tf.ones([2, 4, 3]))
