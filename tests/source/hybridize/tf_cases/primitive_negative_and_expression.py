# Constants that are written as expressions.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(x, a):
    return x + a


f(tf.constant([1.0]), -1)
f(tf.constant([1.0]), 2 * 3.5)
