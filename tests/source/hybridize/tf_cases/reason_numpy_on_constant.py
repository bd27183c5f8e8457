# numpy on constants is harmless.
#
# f: tensor computes -> to_graph
import numpy as np
import tensorflow as tf


def f(x):
    kernel = np.array([1.0, 2.0], dtype=np.float32)
    return x * kernel + np.sqrt(2.0)


f(tf.constant([1.0, 2.0]))
