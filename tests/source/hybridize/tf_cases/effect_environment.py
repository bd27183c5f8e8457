# The environment of the process.
#
# f: tensor effects computes -> no (side_effects)
import os

import tensorflow as tf


def f(x):
    os.environ["LAST"] = "f"
    return x + 1.0


f(tf.constant(1.0))
