# P3: each new Python number traces again.
#
# power: hybrid tensor primitive computes -> to_eager|lift_primitive
import tensorflow as tf


@tf.function
def power(x, exponent):
    return x**exponent


power(tf.constant([2.0]), 2)
power(tf.constant([2.0]), 3)
