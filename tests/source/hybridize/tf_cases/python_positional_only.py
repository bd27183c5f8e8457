# Positional-only and keyword-only parameters.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(a, /, b, *, c=None):
    y = a + b
    return y if c is None else y * c


f(tf.constant(1.0), tf.constant(2.0))
f(tf.constant(1.0), b=tf.constant(2.0), c=tf.constant(3.0))
