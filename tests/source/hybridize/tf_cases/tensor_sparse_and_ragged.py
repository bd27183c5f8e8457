# Sparse and ragged tensors are tensors.
#
# total: tensor computes -> to_graph
# lengths: tensor computes -> to_graph
import tensorflow as tf


def total(s):
    return tf.sparse.reduce_sum(s)


def lengths(r):
    return tf.reduce_sum(r, axis=1)


total(tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]))
lengths(tf.ragged.constant([[1, 2], [3]]))
