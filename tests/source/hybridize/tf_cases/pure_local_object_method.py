# Methods that change an object which the function made.
#
# Accumulator.__init__: ~effects -> ~
# Accumulator.add: tensor effects ~computes -> no (side_effects)
# f: tensor computes -> to_graph
import tensorflow as tf


class Accumulator:
    def __init__(self):
        self.parts = []

    def add(self, x):
        self.parts.append(x)
        return self


def f(x):
    acc = Accumulator()
    acc.add(x).add(x * 2.0)
    return tf.add_n(acc.parts)


f(tf.constant([1.0]))
