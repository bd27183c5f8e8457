# Numbers in a list are numbers.
# summed: primitive computes -> no (no_tensor_parameter)
import tensorflow as tf


def summed(values):
    return tf.reduce_sum(tf.constant(values))


summed([1.0, 2.0])
summed([3.0, 4.0])
