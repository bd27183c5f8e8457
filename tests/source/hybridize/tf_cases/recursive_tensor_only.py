# Recursion over a tensor's value.
#
# f: tensor recursive computes -> no (recursive)
import tensorflow as tf


def f(x):
    if x < 1.0:
        return x
    return f(x / 2.0)


f(tf.constant(5.0))
