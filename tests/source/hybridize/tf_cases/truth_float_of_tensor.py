# A number is taken out of a tensor: a graph has none while it is traced.
#
# f: tensor ~computes -> unsafe
# g: tensor ~computes -> unsafe
# h: tensor ~computes -> unsafe
import tensorflow as tf


def f(x):
    return float(x) * 2.0


def g(x):
    return tf.constant(1.0) * int(x)


def h(x):
    return "%.2f" % (x + 1.0)


f(tf.constant(1.0))
g(tf.constant(3.0))
h(tf.constant(3.0))
