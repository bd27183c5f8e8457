# A lambda that writes into a list of its own function.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    parts = []
    add = lambda t: parts.append(t)
    add(x)
    add(x + 1.0)
    return tf.add_n(parts)


f(tf.constant([1.0]))
