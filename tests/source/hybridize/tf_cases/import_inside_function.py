# An import inside a function.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    import math

    from tensorflow import nn

    return nn.relu(x) * math.pi


f(tf.constant([1.0]))
