# A loop over `tf.range` becomes an operation.
# sums: tensor computes assumed -> to_graph
import tensorflow as tf


def sums(x):
    total = tf.zeros([])
    for i in tf.range(3):
        total += tf.reduce_sum(x) * tf.cast(i, tf.float32)
    return total


sums(tf.ones([2]))
