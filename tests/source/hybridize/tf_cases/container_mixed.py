# A tuple of a tensor and a number: a container with a tensor in it.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def f(pair):
    return pair[0] * pair[1]


f((tf.constant(1.0), 2.0))
