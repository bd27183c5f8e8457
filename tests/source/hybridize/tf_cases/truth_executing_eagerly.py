# It asks how it is run.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    if tf.executing_eagerly():
        return x + 1.0
    return x - 1.0


f(tf.constant(1.0))
