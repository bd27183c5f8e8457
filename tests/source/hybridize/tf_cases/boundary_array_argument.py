# An array is a tensor inside.
# total: tensor computes assumed -> to_graph
import numpy as np
import tensorflow as tf


def total(values):
    return tf.reduce_sum(values)


total(np.ones([2, 2]))
