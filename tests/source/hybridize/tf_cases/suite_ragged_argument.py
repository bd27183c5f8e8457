# A ragged tensor is a tensor.
# total: tensor computes -> to_graph
import tensorflow as tf


def total(rows):
    return tf.reduce_sum(rows, axis=1)


total(tf.ragged.constant([[1.0], [2.0, 3.0]]))
