# A function that is called in a lambda.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


g = lambda t: f(t)
g(tf.constant(1.0))
