# A helper hands out an object that existed before.
#
# registry: -> no
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

_registry = {}


def registry():
    return _registry


def f(x):
    registry()["f"] = 1
    return x + 1.0


f(tf.constant(1.0))
