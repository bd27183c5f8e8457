# @tf.function without arguments.
#
# f: hybrid tensor computes -> add_signature
import tensorflow as tf


@tf.function
def f(x):
    return x + 1.0


f(tf.constant([1.0]))
