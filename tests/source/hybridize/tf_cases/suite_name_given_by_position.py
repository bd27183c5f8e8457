# A name by position that is a string.
# magnitude: tensor computes -> to_graph
import tensorflow as tf


def magnitude(x):
    return tf.abs(x, "magnitude")


magnitude(tf.constant([-1.0]))
