# A counter in an attribute of the function itself.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def f(x):
    f.calls += 1
    return x + 1.0


f.calls = 0
f(tf.constant(1.0))
