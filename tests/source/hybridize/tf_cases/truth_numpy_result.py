# numpy on what was computed, by way of a method and of an operator.
#
# f: tensor computes -> unsafe
import numpy as np
import tensorflow as tf


def f(x):
    y = tf.nn.relu(x)
    z = np.concatenate([y, y])
    return z.sum()


f(tf.constant([1.0, 2.0]))
