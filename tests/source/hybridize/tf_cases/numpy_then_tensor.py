# numpy on a parameter.
# f: tensor computes -> no (numpy)
# g: tensor computes -> to_graph
import numpy as np
import tensorflow as tf
def f(x):
    return tf.constant(np.sqrt(x)) + 1.0
def g(x):
    return x * np.float32(np.pi)
f(tf.ones([2]))
g(tf.ones([2]))
