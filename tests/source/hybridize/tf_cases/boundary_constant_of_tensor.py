# `tf.constant` takes a tensor in eager mode only.
# copy: tensor computes assumed -> to_graph
import tensorflow as tf


def copy(x):
    return tf.constant(x) + 1.0


copy(tf.ones([2]))
