# functools.partial gives the number.
# scaled: tensor primitive computes -> no (primitive_parameter)
from functools import partial

import tensorflow as tf


def scaled(x, by):
    return x * by


double = partial(scaled, by=2.0)
triple = partial(scaled, by=3.0)
double(tf.ones([2]))
triple(tf.ones([2]))
