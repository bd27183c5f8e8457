# Integers from one caller, floats from another: no signature fits both.
#
# f: hybrid tensor computes -> no
import tensorflow as tf


@tf.function
def f(x):
    return x + x


f(tf.constant([1, 2]))
f(tf.constant([1.0, 2.0]))
