# tf.function with every kind of option.
#
# a: hybrid tensor computes -> add_signature
# b: hybrid tensor computes -> add_signature
# c: hybrid tensor computes -> add_signature
# d: hybrid tensor computes -> keep
# e: hybrid tensor computes -> ~
import tensorflow as tf


@tf.function(reduce_retracing=True)
def a(x):
    return x + 1.0


@tf.function(autograph=False, jit_compile=None)
def b(x):
    return x + 1.0


@tf.function(experimental_autograph_options=None)
def c(x):
    return x + 1.0


@tf.function(None, [tf.TensorSpec([None], tf.float32)])
def d(x):
    return x + 1.0


def e(x):
    return x + 1.0


e_fast = tf.function(e, autograph=False)
x = tf.constant([1.0])
for f in (a, b, c, d, e_fast):
    f(x)
