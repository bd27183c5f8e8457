# An array is passed; only TensorFlow touches it.
# mean: tensor computes -> to_graph
import numpy as np
import tensorflow as tf


def mean(x):
    return tf.reduce_mean(x, axis=0)


mean(np.ones((3, 2), dtype=np.float32))
