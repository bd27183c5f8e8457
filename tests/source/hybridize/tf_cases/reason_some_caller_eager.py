# One caller is hybrid, another eager.
#
# helper: tensor computes -> to_graph
# f: hybrid tensor computes -> add_signature
import tensorflow as tf


def helper(x):
    return x * 2.0


@tf.function
def f(x):
    return helper(x) + 1.0


f(tf.constant([1.0]))
helper(tf.constant([2.0]))
