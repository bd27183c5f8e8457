# The text of a tensor is another one in a graph.
#
# f: tensor ~computes -> unsafe
# g: tensor ~computes -> unsafe
import tensorflow as tf


def f(x):
    return f"{x + 1.0}"


def g(x):
    y = x * 2.0
    return str(y)


f(tf.constant(1.0))
g(tf.constant(1.0))
