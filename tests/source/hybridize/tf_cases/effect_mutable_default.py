# A mutable default lives on between calls.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def f(x, seen=[]):
    seen.append(1)
    return x + float(1)


f(tf.constant(1.0))
