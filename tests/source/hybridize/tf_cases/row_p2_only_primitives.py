# P2: no tensor parameter, only a primitive one.
#
# powers: hybrid primitive computes -> to_eager
import tensorflow as tf


@tf.function
def powers(n):
    return tf.pow(2.0, tf.cast(tf.range(n), tf.float32))


powers(4)
powers(5)
