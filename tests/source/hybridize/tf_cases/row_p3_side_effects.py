# P3 with an effect: left alone.
#
# power: hybrid tensor primitive effects computes -> no (side_effects)
import tensorflow as tf


@tf.function
def power(x, exponent):
    print("power of", exponent)
    return tf.pow(x, float(exponent))


power(tf.constant([2.0]), 2)
power(tf.constant([2.0]), 3)
