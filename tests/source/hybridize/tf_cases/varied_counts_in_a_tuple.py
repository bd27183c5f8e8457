# Numbers inside of tuples make a new trace each.
# padded: tensor primitive computes -> ~
import tensorflow as tf


def padded(x, sizes):
    before, after = sizes
    return tf.pad(x, [[0, 0], [before, after]])


for n in range(3):
    print(padded(tf.ones([2, 3]), (n, n + 1)).shape)
