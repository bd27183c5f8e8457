# functools.partial binds a number.
#
# power: tensor primitive computes -> no (primitive_parameter)
import functools

import tensorflow as tf


def power(x, n):
    return x**n


square = functools.partial(power, n=2)
square(tf.constant([1.0, 2.0]))
