# Starred assignment and call.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


def f(a, b):
    return a + b


def g(rest):
    return tf.add_n(rest)


values = [tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)]
first, *rest = values
f(*values[:2])
g(rest)
