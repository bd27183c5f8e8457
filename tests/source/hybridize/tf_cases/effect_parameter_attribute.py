# An attribute of a parameter.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class State:
    calls = 0


def f(x, state):
    state.calls = state.calls + 1
    return x * 2.0


f(tf.constant(1.0), State())
