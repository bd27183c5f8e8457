# A mode is a string; with the tensor beside it, a graph for each mode.
# reduced: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def reduced(x, mode):
    return tf.reduce_sum(x) if mode == "sum" else tf.reduce_mean(x)


reduced(tf.ones([2]), "sum")
reduced(tf.ones([2]), "mean")
