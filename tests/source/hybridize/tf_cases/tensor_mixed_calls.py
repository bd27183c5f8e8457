# One caller gives a tensor, another a number: a tensor flows in, and not every value is a constant.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(x):
    return tf.add(x, 1)


f(tf.constant(1))
f(5)
