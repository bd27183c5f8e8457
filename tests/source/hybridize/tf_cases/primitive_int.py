# Each new number traces again: the function stays eager.
#
# power: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def power(x, n):
    return x**n


power(tf.constant([2.0]), 2)
power(tf.constant([2.0]), 3)
