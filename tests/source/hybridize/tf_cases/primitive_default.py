# A default that no caller overrides is exempt.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x, n=2):
    return x * n


f(tf.constant([1.0]))
f(tf.constant([3.0]))
