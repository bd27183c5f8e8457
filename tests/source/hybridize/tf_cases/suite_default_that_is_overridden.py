# One call gives another number than the default.
# leaky: tensor primitive computes -> no (primitive_parameter)
# steady: tensor computes -> to_graph
import tensorflow as tf


def leaky(x, slope=0.2):
    return tf.maximum(x, slope * x)


def steady(x, slope=0.2):
    return tf.maximum(x, slope * x)


leaky(tf.ones([2]))
leaky(tf.ones([2]), 0.1)
steady(tf.ones([2]))
