# A variable counts as a tensor.
#
# norm: tensor computes -> to_graph
import tensorflow as tf


def norm(v):
    return tf.sqrt(tf.reduce_sum(v * v))


norm(tf.Variable([3.0, 4.0]))
