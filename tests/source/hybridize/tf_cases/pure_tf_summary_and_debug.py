# Assertions and name scopes of TensorFlow.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    tf.debugging.assert_all_finite(x, "not finite")
    with tf.name_scope("block"):
        return tf.identity(x) * 2.0


f(tf.constant([1.0]))
