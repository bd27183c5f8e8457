# The name is bound again.
#
# f: hybrid tensor computes -> ~
import tensorflow as tf


def f(x):
    return x + 1.0


f = tf.function(f)
f(tf.constant([1.0]))
