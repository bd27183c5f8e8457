# NumPy on an array that is passed.
# spread: tensor computes -> no (numpy)
import numpy as np
import tensorflow as tf


def spread(values):
    return tf.constant(2.0) * np.std(values)


spread(np.array([1.0, 2.0], dtype=np.float32))
