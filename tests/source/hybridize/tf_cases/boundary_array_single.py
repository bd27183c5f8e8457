# An array of float32 meets its like.
# residual: tensor computes assumed -> to_graph
import numpy as np
import tensorflow as tf


def residual(target, prediction):
    return tf.square(prediction - target)


residual(np.ones([3], dtype=np.float32), tf.zeros([3]))
