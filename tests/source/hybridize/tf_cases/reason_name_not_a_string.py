# `name=` must be a string in a graph; eager mode ignores it.
#
# f: tensor computes -> no (name_argument)
import tensorflow as tf


def f(x):
    return tf.add(x, 1.0, name=5)


f(tf.constant(1.0))
