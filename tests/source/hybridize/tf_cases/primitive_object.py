# Functions and instances are no primitives.
#
# apply: tensor computes -> to_graph
import tensorflow as tf


def apply(fn, x):
    return fn(x) + 1.0


apply(tf.tanh, tf.constant(0.5))
