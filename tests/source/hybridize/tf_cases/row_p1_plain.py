# P1: an eager function of tensors without effects.
#
# scale: tensor computes -> to_graph
import tensorflow as tf


def scale(x):
    return x * 2.0 + 1.0


scale(tf.constant([1.0, 2.0]))
