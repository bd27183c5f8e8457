# A type hint says tensor; nobody calls the function.
#
# f: tensor ~primitive computes -> to_graph
import tensorflow as tf


def f(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x)
