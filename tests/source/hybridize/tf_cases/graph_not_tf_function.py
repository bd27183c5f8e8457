# A decorator of the same name that has nothing to do with TensorFlow.
#
# function: -> no
# f: tensor computes -> to_graph
import tensorflow as tf


def function(fn):
    return fn


@function
def f(x):
    return x + 1.0


f(tf.constant([1.0]))
