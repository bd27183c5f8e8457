# A number travels beside a tensor in a tuple.
# scaled: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def scaled(pair):
    values, factor = pair
    return values * factor


scaled((tf.ones([3]), 2.0))
scaled((tf.ones([3]), 3.0))
