# The later definition of a name is the one that is called.
#
# g: tensor computes -> to_graph
import tensorflow as tf


def helper(x):
    print("old")
    return x


def helper(x):  # noqa: F811
    return x * 2.0


def g(x):
    return helper(x) + 1.0


g(tf.constant(1.0))
