# An assertion gives None in eager mode, an operation in a graph.
# check: tensor computes assumed -> to_graph
import tensorflow as tf


def check(x):
    return tf.debugging.assert_non_negative(x)


check(tf.ones([2]))
