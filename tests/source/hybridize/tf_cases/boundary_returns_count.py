# A Python number is handed out.
# measure: tensor computes assumed -> to_graph
import tensorflow as tf


def measure(x):
    return tf.reduce_sum(x), len(x.shape)


total, rank = measure(tf.ones([2, 3]))
assert isinstance(rank, int)
