# TensorFlow under other names.
#
# f: tensor computes -> to_graph
# g: hybrid tensor computes -> add_signature
# h: tensor computes -> to_graph
import importlib

import tensorflow as tf

T = tf
K = tf.keras
math = T.math
tf2 = tf.compat.v2
late = importlib.import_module("tensorflow")


def f(x):
    return math.square(x) + K.activations.relu(x)


@T.function
def g(x):
    return x + 1.0


def h(x):
    return tf2.reduce_sum(x)


f(T.constant(1.0))
g(T.constant([1.0]))
h(late.ones([2]) if False else tf2.ones([2]))
