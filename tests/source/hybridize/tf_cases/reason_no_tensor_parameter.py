# An eager function without tensor parameters.
#
# build: ~primitive computes -> no (no_tensor_parameter)
import tensorflow as tf


def build(shape):
    return tf.ones(shape) * 2.0


build([2, 3])
