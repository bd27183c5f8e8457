# The name is a text.
# root: tensor computes -> to_graph
import tensorflow as tf


def root(x):
    return tf.add(tf.sqrt(x, "root"), x, "sum")


root(tf.constant([4.0]))
