# A lambda passes the number on.
# shifted: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def shifted(x, by):
    return x + by


def applied(function, x):
    return function(x)


applied(lambda x: shifted(x, 1.0), tf.ones([2]))
applied(lambda x: shifted(x, 2.0), tf.ones([2]))
