# Datasets zipped by TensorFlow and by Python.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


def f(a, b):
    return a + b


def g(a, b):
    return a * b


one = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
two = tf.data.Dataset.from_tensor_slices([3.0, 4.0])
for a, b in tf.data.Dataset.zip((one, two)):
    f(a, b)
for a, b in zip(one, two):
    g(a, b)
