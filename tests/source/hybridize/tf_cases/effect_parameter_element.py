# An element of a parameter.
#
# f: tensor primitive effects computes -> no (side_effects)
import tensorflow as tf


def f(x, out):
    out[0] = "done"
    return x * 2.0


f(tf.constant(1.0), [None])
