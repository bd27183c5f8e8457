# The number is handed on by another function.
#
# outer: tensor primitive computes -> no (primitive_parameter)
# inner: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def inner(x, n):
    return tf.reshape(x, [n, -1])


def outer(x, n):
    return inner(x, n) + 1.0


outer(tf.ones([4]), 2)
