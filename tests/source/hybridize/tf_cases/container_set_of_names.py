# A set of strings: no tensors.
#
# f: ~primitive computes -> no (no_tensor_parameter)
import tensorflow as tf


def f(names):
    return tf.constant(len(names)) * 2


f({"a", "b"})
