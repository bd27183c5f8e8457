# numpy arrays as arguments are no tensors.
# f: tensor ~computes -> to_graph
import numpy as np
import tensorflow as tf
def f(a):
    return tf.reduce_sum(tf.constant(a))
f(np.ones(3))
