# The same with numpy.
#
# f: tensor ~effects computes -> unsafe
import numpy as np
import tensorflow as tf


def f(x):
    return x + np.random.rand()


f(tf.constant([1.0]))
