# A tuple of tensors, taken apart.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(pair):
    a, b = pair
    return a * b


f((tf.constant(1.0), tf.constant(2.0)))
