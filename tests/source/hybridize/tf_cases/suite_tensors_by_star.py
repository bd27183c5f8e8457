# Tensors by star, numbers by name.
# summed: tensor computes -> to_graph
# scaled: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def summed(*parts):
    return tf.add_n(list(parts))


def scaled(x, *, by):
    return x * by


summed(tf.ones([2]), tf.ones([2]), tf.zeros([2]))
scaled(tf.ones([2]), by=2.0)
scaled(tf.ones([2]), by=4.0)
