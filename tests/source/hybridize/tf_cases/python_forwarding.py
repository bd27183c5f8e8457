# *args and **kwargs handed on.
#
# inner: tensor computes -> to_graph
# outer: tensor computes -> to_graph
import tensorflow as tf


def inner(a, b):
    return a * b


def outer(*args, **kwargs):
    return inner(*args, **kwargs) + 1.0


outer(tf.constant(1.0), b=tf.constant(2.0))
