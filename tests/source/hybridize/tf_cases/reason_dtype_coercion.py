# An array meets tensors of two dtypes: eager mode converts it for each, a graph converts it once and then fails.
#
# f: tensor computes -> no (dtype_conflict)
import numpy as np
import tensorflow as tf


def f(x, y, scale):
    return scale * x, scale * y


f(tf.constant([1.0]), tf.constant([1.0], tf.float64), np.array([2.0]))
