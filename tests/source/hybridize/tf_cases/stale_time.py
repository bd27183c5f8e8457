# The clock is read once.
#
# f: tensor ~effects computes -> unsafe
import time

import tensorflow as tf


def f(x):
    return x + time.time()


f(tf.constant([1.0], tf.float64))
