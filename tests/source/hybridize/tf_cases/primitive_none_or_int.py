# None flows in beside a number: not every value is a non-None constant.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(x, axis):
    return tf.reduce_sum(x, axis=axis)


f(tf.ones([2, 2]), None)
f(tf.ones([2, 2]), 1)
