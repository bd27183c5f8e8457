# Nobody calls it, no hint, no telling name: it cannot be known what flows in.
#
# f: tensor? ~primitive ~computes -> no? (tensor_unknown)
import tensorflow as tf


def f(x):
    return tf.square(x)
