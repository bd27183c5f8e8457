# A write to a module that was imported.
#
# f: tensor effects computes -> no (side_effects)
import string

import tensorflow as tf


def f(x):
    string.last_seen = "f"
    return x + 1.0


f(tf.constant(1.0))
