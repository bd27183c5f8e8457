# The only caller is a graph function.
#
# inner: tensor computes -> no (callers_hybrid)
# outer: hybrid tensor computes -> add_signature
import tensorflow as tf
def inner(x):
    return tf.exp(x)
@tf.function
def outer(x):
    return inner(x) + 1.0
outer(tf.constant([1.0]))
