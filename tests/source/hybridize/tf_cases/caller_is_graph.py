# Only a graph function calls it.
# inner: tensor computes -> no (callers_hybrid)
# outer: hybrid tensor computes -> add_signature
import tensorflow as tf


def inner(x):
    return tf.nn.elu(x)


@tf.function
def outer(x):
    return inner(x) + inner(-x)


outer(tf.constant([1.0]))
