# The shape of an argument is known in every trace.
# mean: tensor computes -> to_graph
import tensorflow as tf


def mean(x):
    return tf.reduce_sum(x, 0) / float(x.shape[0])


mean(tf.ones([4, 2]))
mean(tf.ones([5, 2]))
