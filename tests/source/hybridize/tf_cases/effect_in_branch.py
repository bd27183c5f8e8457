# An effect under a condition is an effect.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def f(x, verbose):
    if verbose:
        print("f")
    return x + 1.0


f(tf.constant(1.0), False)
f(tf.constant(1.0), True)
