# A fallback import.
#
# f: tensor computes -> to_graph
try:
    import tensorflow.compat.v2 as tf
except ImportError:
    import tensorflow as tf


def f(x):
    return tf.tanh(x)


f(tf.constant([1.0]))
