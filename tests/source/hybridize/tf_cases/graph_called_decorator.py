# @tf.function() and @tf.function(jit_compile=…).
#
# f: hybrid tensor computes -> add_signature
# g: hybrid tensor computes -> add_signature
import tensorflow as tf


@tf.function()
def f(x):
    return x + 1.0


@tf.function(autograph=False)
def g(x):
    return x + 2.0


f(tf.constant([1.0]))
g(tf.constant([1.0]))
