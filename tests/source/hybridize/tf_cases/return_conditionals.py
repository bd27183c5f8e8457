# Tensors that come out of conditional expressions, and/or, walrus, chained comparisons.
#
# f: tensor computes -> to_graph
# pick: ~tensor ~primitive computes -> ~
# default: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf

x = tf.constant([1.0])


def f(x):
    return x + 1.0


def pick(flag):
    return tf.ones([2]) * 2.0 if flag else None


def default(x):
    return tf.reduce_sum(x)


f(pick(True))
value = pick(False) or x
default(value)
default(x if x is not None else 0)
