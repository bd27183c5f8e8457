# The function gives itself to map.
#
# depth: tensor recursive computes -> no (recursive)
import tensorflow as tf


def depth(tree):
    if isinstance(tree, tuple):
        return tf.add_n(list(map(depth, tree)))
    return tree + 1.0


depth((tf.constant(1.0), (tf.constant(2.0), tf.constant(3.0))))
