# An element of a global dictionary is written.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

stats = {"calls": 0}


def f(x):
    stats["calls"] += 1
    return tf.square(x)


f(tf.constant(1.0))
