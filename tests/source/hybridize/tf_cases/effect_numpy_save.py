# numpy writes a file; the array is not a parameter.
#
# f: tensor effects computes -> no (side_effects)
import numpy as np
import tensorflow as tf


def f(x):
    np.save("ones.npy", np.ones(3))
    return x + 1.0


f(tf.constant(1.0))
