# numpy's random generator, made outside.
#
# f: tensor ~effects computes -> unsafe
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)


def f(x):
    return x + rng.normal()


f(tf.constant(1.0, tf.float64))
