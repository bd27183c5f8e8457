# Slots and frozen dataclasses as arguments.
#
# f: ~tensor computes -> ~
# g: ~tensor computes -> ~
# h: tensor computes -> to_graph
from dataclasses import dataclass

import tensorflow as tf


class Pair:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b


@dataclass(frozen=True)
class Config:
    scale: float = 2.0


def f(pair):
    return pair.a + pair.b


def g(config):
    return tf.constant(1.0) * config.scale


def h(x, config):
    return x * config.scale


f(Pair(tf.constant(1.0), tf.constant(2.0)))
g(Config())
h(tf.constant(1.0), Config(3.0))
