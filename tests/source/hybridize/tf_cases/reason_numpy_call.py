# numpy on a parameter.
#
# f: tensor ~computes -> no (numpy)
import numpy as np
import tensorflow as tf


def f(x):
    return np.mean(x)


f(tf.constant([1.0, 2.0]))
