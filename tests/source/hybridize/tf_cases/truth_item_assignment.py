# An array of numpy is filled with values of tensors.
#
# f: tensor computes -> unsafe
import numpy as np
import tensorflow as tf


def f(x):
    out = np.zeros(2, np.float32)
    for i in range(2):
        out[i] = x[i] * 2.0
    return out


f(tf.constant([1.0, 2.0]))
