# Rebinding a parameter or a local is no write to anything.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    x += 1.0
    x = x * 2.0
    y = z = x
    y -= 1.0
    return y, z


f(tf.constant([1.0]))
