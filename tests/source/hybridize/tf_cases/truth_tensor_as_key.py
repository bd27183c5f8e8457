# A tensor's value indexes a Python list.
#
# f: tensor computes -> unsafe
import tensorflow as tf

WEIGHTS = [1.0, 2.0, 3.0]


def f(x, i):
    return x * WEIGHTS[i]


f(tf.constant(1.0), tf.constant(1))
