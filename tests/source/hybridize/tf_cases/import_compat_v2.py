# import tensorflow.compat.v2 as tf.
#
# f: tensor computes -> to_graph
# g: hybrid tensor computes -> add_signature
import tensorflow.compat.v2 as tf


def f(x):
    return x + 1.0


@tf.function
def g(x):
    return x + 2.0


f(tf.constant([1.0]))
g(tf.constant([1.0]))
