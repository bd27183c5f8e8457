# A tensor is taken apart by Python.
#
# f: tensor computes -> unsafe
# g: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    return tf.stack(list(x * 2.0))


def g(x):
    a, b = x * 2.0
    return a + b


f(tf.constant([1.0, 2.0]))
g(tf.constant([1.0, 2.0]))
