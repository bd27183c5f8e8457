# Python's random numbers would be drawn once.
# noisy: tensor ~effects computes -> unsafe
import random

import tensorflow as tf


def noisy(x):
    return x + random.random()


noisy(tf.ones([2]))
