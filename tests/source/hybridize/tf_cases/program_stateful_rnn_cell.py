# A hand-written recurrent cell unrolled in Python; its state lives in the caller.
#
# LSTMCell.__init__: ~effects ~primitive ~computes -> ~
# LSTMCell.step: tensor computes -> to_graph
# unroll: tensor computes -> to_graph
# last: tensor computes -> ~
import tensorflow as tf


class LSTMCell:
    def __init__(self, n):
        self.n = n
        self.w = tf.Variable(tf.ones([2 * n, 4 * n]) * 0.1)

    def step(self, x, state):
        h, c = state
        z = tf.concat([x, h], -1) @ self.w
        i, f, o, g = tf.split(z, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, c


def unroll(cell, inputs):
    batch = inputs.shape[1]
    state = (tf.zeros([batch, cell.n]), tf.zeros([batch, cell.n]))
    outputs = []
    for t in range(inputs.shape[0]):
        state = cell.step(inputs[t], state)
        outputs.append(state[0])
    return tf.stack(outputs)


def last(outputs):
    return outputs[-1]


last(unroll(LSTMCell(3), tf.ones([4, 2, 3])))
