# Attributes of an object that is made inside.
#
# State.__init__: ~effects ~tensor -> ~
# f: tensor computes -> to_graph
import tensorflow as tf


class State:
    def __init__(self, value):
        self.value = value


def f(x):
    state = State(x)
    state.value = state.value + 1.0
    state.steps = 1
    return state.value


f(tf.constant([1.0]))
