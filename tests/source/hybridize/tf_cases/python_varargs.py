# *args of tensors.
#
# total: tensor computes -> to_graph
import tensorflow as tf


def total(*xs):
    return tf.add_n(list(xs))


total(tf.constant(1.0), tf.constant(2.0))
