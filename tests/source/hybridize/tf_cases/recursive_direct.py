# A function that calls itself.
#
# f: tensor primitive recursive computes -> no (recursive)
import tensorflow as tf


def f(x, n):
    if n == 0:
        return x
    return f(x * 2.0, n - 1)


f(tf.constant(1.0), 3)
