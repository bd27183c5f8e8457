# The same by keyword.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(x, *, n=2):
    return x * n


f(tf.constant([1.0]), n=4)
