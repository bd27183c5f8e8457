# A dictionary is spread into keywords.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(a, b):
    return a - b


batch = {"a": tf.constant(1.0), "b": tf.constant(2.0)}
f(**batch)
