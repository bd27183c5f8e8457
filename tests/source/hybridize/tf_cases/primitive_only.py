# Primitives and no tensor.
#
# grid: primitive computes -> no (no_tensor_parameter)
import tensorflow as tf


def grid(n):
    return tf.linspace(0.0, 1.0, n)


grid(3)
