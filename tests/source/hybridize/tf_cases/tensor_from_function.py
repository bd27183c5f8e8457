# A tensor that another function returns.
#
# make: computes -> no (no_tensor_parameter)
# use: tensor computes -> to_graph
import tensorflow as tf


def make():
    return tf.ones([4]) * 2.0


def use(x):
    return tf.reduce_mean(x)


use(make())
