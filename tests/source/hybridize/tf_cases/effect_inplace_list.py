# `+=` on a list from outside changes that list.
#
# f: tensor primitive effects computes -> no (side_effects)
import tensorflow as tf


def f(x, names):
    names += ["f"]
    return x + 1.0


f(tf.constant(1.0), [])
