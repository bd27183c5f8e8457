# **kwargs of tensors.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(**named):
    return named["a"] + named["b"]


f(a=tf.constant(1.0), b=tf.constant(2.0))
