# The branches of a condition on a tensor give values of different types.
#
# f: tensor computes -> unsafe
# g: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    if x > 0.0:
        return x + 1.0
    return None


def g(x):
    if tf.reduce_sum(x) > 0.0:
        y = "positive"
    else:
        y = "negative"
    return y


f(tf.constant(1.0))
g(tf.constant(1.0))
