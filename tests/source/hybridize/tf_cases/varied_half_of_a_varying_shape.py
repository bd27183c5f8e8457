# Halves by Python's division of a dimension.
# halves: tensor computes -> ~
import tensorflow as tf


def halves(x):
    middle = x.shape[-1] // 2
    a, b = x[..., :middle], x[..., middle:]
    return a * tf.nn.sigmoid(b[..., :middle])


for width in (4, 8, 6):
    print(halves(tf.ones([2, width])).shape)
