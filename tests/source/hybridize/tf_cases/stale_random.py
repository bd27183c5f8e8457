# Python's random numbers are drawn once, when the graph is traced.
#
# f: tensor ~effects computes -> unsafe
import random

import tensorflow as tf


def f(x):
    return x * random.random()


f(tf.constant([1.0]))
