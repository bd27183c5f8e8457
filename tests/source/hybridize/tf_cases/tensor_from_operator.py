# A tensor that comes out of Python operators.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return tf.abs(x)


a = tf.constant([1.0])
f(-a)
f(2 * a)
f(a - 1)
