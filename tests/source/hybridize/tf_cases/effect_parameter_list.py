# The list is a parameter.
#
# f: tensor primitive effects computes -> no (side_effects)
import tensorflow as tf


def f(x, log):
    log.append("f")
    return x * 2.0


f(tf.constant(1.0), [])
