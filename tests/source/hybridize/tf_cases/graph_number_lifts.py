# A graph function multiplies by a number: it could be a tensor.
# gain: hybrid tensor primitive computes -> lift_primitive
import tensorflow as tf


@tf.function
def gain(x, amount):
    return x * amount


gain(tf.constant([1.0]), 2.0)
gain(tf.constant([1.0]), 4.0)
