# Shapes, dtypes and specs are no tensors.
#
# f: ~primitive ~computes -> no (no_tensor_parameter)
# g: ~primitive ~computes -> no (no_tensor_parameter)
import tensorflow as tf


def f(spec):
    return spec.shape


def g(dtype):
    return tf.zeros([2], dtype)


f(tf.TensorSpec([None, 2], tf.float32))
g(tf.float64)
