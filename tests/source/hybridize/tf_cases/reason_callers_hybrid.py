# Every caller is hybrid: the helper is part of a graph already.
#
# helper: tensor computes -> no (callers_hybrid)
# f: hybrid tensor computes -> add_signature
import tensorflow as tf


def helper(x):
    return x * 2.0


@tf.function
def f(x):
    return helper(x) + 1.0


f(tf.constant([1.0]))
