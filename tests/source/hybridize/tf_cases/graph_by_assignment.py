# `tf.function` applied by hand.
# square: hybrid tensor computes -> add_signature
import tensorflow as tf


def square(x):
    return x * x


fast = tf.function(square)
fast(tf.constant([3.0]))
