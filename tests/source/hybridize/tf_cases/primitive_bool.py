# Booleans do not count: there are only two of them.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x, training):
    if training:
        return x * 0.5
    return x + 0.0


f(tf.constant([1.0]), True)
f(tf.constant([1.0]), False)
