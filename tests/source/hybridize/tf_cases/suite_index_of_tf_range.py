# tf.range counts in tensors.
# weighted: tensor computes -> to_graph
import tensorflow as tf


def weighted(x, index):
    return x * tf.cast(index, tf.float32)


for index in tf.range(3):
    weighted(tf.ones([2]), index)
