# Methods of tensors and of tf.Tensor shapes: `x.shape` is no tensor, `x.shape[0]` is no tensor.
#
# f: tensor computes -> to_graph
# g: ~primitive -> no (no_tensor_parameter)
import tensorflow as tf


def f(x):
    return tf.transpose(x)


def g(shape):
    return list(shape)


m = tf.ones([2, 3])
f(m)
g(m.shape)
