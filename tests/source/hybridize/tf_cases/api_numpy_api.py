# Producers of tensors: numpy api.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
import numpy as np
import tensorflow as tf

base = tf.constant([1.0, 2.0, 3.0])
matrix = tf.constant([[1.0, 2.0, 0.5], [0.1, 3.0, 1.0], [2.0, 0.3, 4.0]])

def f0(x):
    return x, tf.add(base, 1.0)

def f1(x):
    return x, tf.add(base, 1.0)

def f2(x):
    return x, tf.add(base, 1.0)

def f3(x):
    return x, tf.add(base, 1.0)

def f4(x):
    return x, tf.add(base, 1.0)

def f5(x):
    return x, tf.add(base, 1.0)

def f6(x):
    return x, tf.add(base, 1.0)


f0(tf.experimental.numpy.ones([2]))
f1(tf.convert_to_tensor(np.ones(2)))
f2(tf.constant(np.arange(3)))
f3(tf.numpy_function(lambda v: v, [base], tf.float32))
f4(tf.py_function(lambda v: v * 2.0, [base], tf.float32))
f5(np.ones(3, np.float32) * base)
f6(tf.Variable(np.zeros(2)))
