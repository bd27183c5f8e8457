# A number from one caller, a tensor from another: not every value is a constant.
#
# scale: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def scale(x, factor):
    return x * factor


scale(tf.constant([1.0]), 2.0)
scale(tf.constant([1.0]), tf.constant(3.0))
