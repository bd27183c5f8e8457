# A default that is overridden by a boolean.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x, training=False):
    return x if not training else x * 2.0


f(tf.constant([1.0]), training=True)
