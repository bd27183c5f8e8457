# A telling name without parameters.
#
# train_step: computes -> no (no_tensor_parameter)
import tensorflow as tf


def train_step():
    return tf.ones([2]) + 1.0
