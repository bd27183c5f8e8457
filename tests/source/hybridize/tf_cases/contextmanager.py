# A context manager made from a generator.
#
# scaled: ~tensor ~primitive ~effects ~computes -> ~
# f: tensor effects computes -> no (side_effects)
# g: tensor computes -> to_graph
import contextlib

import tensorflow as tf


@contextlib.contextmanager
def scaled(name):
    print("enter", name)
    yield 2.0
    print("leave", name)


def f(x):
    with scaled("block") as factor:
        return x * factor


def g(x):
    with tf.device("/CPU:0"), contextlib.suppress(KeyError):
        return x + 1.0


f(tf.constant(1.0))
g(tf.constant(1.0))
