# numpy arrays as arguments are no tensors.
# f: ~computes -> no (no_tensor_parameter)
import numpy as np
import tensorflow as tf
def f(a):
    return tf.reduce_sum(tf.constant(a))
f(np.ones(3))
