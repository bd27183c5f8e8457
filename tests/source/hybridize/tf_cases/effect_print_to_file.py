# print with file=.
#
# f: tensor effects computes -> no (side_effects)
import sys

import tensorflow as tf


def f(x):
    print("called", file=sys.stderr)
    return x + 1.0


f(tf.constant(1.0))
