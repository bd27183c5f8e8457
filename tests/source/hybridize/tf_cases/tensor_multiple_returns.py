# A tuple of tensors is taken apart by the caller.
#
# moments: tensor computes -> to_graph
# use: tensor computes -> to_graph
import tensorflow as tf


def moments(x):
    return tf.reduce_mean(x), tf.math.reduce_variance(x)


def use(mean, variance):
    return mean / tf.sqrt(variance)


m, v = moments(tf.constant([1.0, 2.0, 4.0]))
use(m, v)
