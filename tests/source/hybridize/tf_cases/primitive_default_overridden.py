# A default that some caller overrides by another constant counts.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(x, n=2):
    return x * n


f(tf.constant([1.0]))
f(tf.constant([1.0]), 3)
