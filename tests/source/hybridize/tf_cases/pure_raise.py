# Raising is no effect.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    if len(x.shape) != 1:
        raise ValueError("a vector is wanted")
    return x + 1.0


f(tf.constant([1.0]))
