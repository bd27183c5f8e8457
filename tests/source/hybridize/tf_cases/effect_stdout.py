# sys.stdout.write.
#
# f: tensor effects computes -> no (side_effects)
import sys

import tensorflow as tf


def f(x):
    sys.stdout.write("called\n")
    return x + 1.0


f(tf.constant(1.0))
