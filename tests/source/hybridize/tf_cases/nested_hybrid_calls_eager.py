# An eager helper that an eager and a graph function call.
# helper: tensor computes -> to_graph
# fast: tensor hybrid computes -> add_signature
# slow: tensor computes -> to_graph
import tensorflow as tf
def helper(x):
    return tf.square(x)
@tf.function
def fast(x):
    return helper(x) + 1.0
def slow(x):
    return helper(x) - 1.0
fast(tf.ones([1]))
slow(tf.ones([1]))
