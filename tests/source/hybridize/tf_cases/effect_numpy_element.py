# An element of a numpy array from outside.
#
# f: tensor effects computes -> no (side_effects)
import numpy as np
import tensorflow as tf

losses = np.zeros(3)


def f(x):
    losses[0] = 1.0
    return x + 1.0


f(tf.constant(1.0))
