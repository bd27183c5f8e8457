# numpy on something that was computed from a parameter.
#
# f: tensor computes -> no
import numpy as np
import tensorflow as tf


def f(x):
    y = x * 2.0
    return tf.constant(np.sum(y)) + 1.0


f(tf.constant([1.0, 2.0]))
