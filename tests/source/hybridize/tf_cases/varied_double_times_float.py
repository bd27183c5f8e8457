# A default array of NumPy is float64, the tensor is float32.
# weighted: tensor computes -> no (dtype_conflict)
import numpy as np
import tensorflow as tf


def weighted(samples, x):
    return tf.reduce_sum(x * samples, axis=-1)


for step in range(3):
    print(weighted(np.linspace(0.0, 1.0, 3), tf.ones([2, 3]) * (step + 1.0)).numpy())
