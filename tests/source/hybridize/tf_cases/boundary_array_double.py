# An array of float64 meets float32.
# residual: tensor computes -> no (dtype_conflict)
import numpy as np
import tensorflow as tf


def residual(target, prediction):
    return tf.square(prediction - target)


residual(np.ones([3]), tf.zeros([3]))
