# The decorator goes by a name of our own.
#
# f: hybrid tensor computes -> add_signature
import tensorflow as tf

compiled = tf.function


@compiled
def f(x):
    return x + 1.0


f(tf.constant([1.0]))
