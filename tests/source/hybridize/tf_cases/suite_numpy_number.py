# A NumPy scalar becomes a tensor as well: it is no Python number.
# scaled: tensor computes -> to_graph
import numpy as np
import tensorflow as tf


def scaled(x, by):
    return x * by


scaled(tf.ones([2]), np.float32(2.0))
scaled(tf.ones([2]), np.float32(3.0))
