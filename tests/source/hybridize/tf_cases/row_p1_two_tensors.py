# P1 with two tensor parameters and a helper.
#
# distance: tensor computes -> to_graph
# square: tensor computes -> to_graph
import tensorflow as tf


def square(x):
    return tf.multiply(x, x)


def distance(a, b):
    return tf.sqrt(tf.reduce_sum(square(a - b)))


distance(tf.ones([3]), tf.zeros([3]))
