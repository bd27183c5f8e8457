# The hint is a string, as in code with forward references.
#
# f: tensor ~primitive computes -> to_graph
import tensorflow as tf


def f(x: "tf.Tensor", y: "tf.Tensor"):
    return x + y
