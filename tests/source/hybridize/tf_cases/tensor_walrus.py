# An assignment expression.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1


if (t := tf.constant([1, 2])) is not None:
    f(t)
