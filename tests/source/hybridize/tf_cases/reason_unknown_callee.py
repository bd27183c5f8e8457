# Nobody knows what the library that is called does.
#
# f: tensor effects? ~recursive computes -> no? (side_effects_unknown)
# truth: skip
import mystery_library
import tensorflow as tf


def f(x):
    mystery_library.observe(x)
    return x + 1.0


f(tf.constant(1.0))
