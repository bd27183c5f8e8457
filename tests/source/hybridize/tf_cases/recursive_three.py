# A cycle of three.
#
# a: tensor recursive computes -> no (recursive)
# b: tensor recursive computes -> no (recursive)
# c: tensor recursive computes -> no (recursive)
import tensorflow as tf


def a(x):
    return b(x) if x > 0.0 else x


def b(x):
    return c(x - 1.0)


def c(x):
    return a(x - 1.0)


a(tf.constant(4.0))
