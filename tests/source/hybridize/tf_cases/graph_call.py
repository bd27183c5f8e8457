# tf.function(f): the function runs as a graph, without a decorator.
#
# f: hybrid tensor computes -> ~
import tensorflow as tf


def f(x):
    return x + 1.0


fast = tf.function(f)
fast(tf.constant([1.0]))
