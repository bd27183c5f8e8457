# Keras 3 operations.
# f: tensor computes -> to_graph
import tensorflow as tf
import keras
from keras import ops
def f(x):
    return ops.softmax(ops.matmul(x, ops.transpose(x)))
f(tf.ones([2, 2]))
