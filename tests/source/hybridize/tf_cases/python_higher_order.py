# Functions as arguments, in map and filter, and in a dictionary.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
# h: tensor computes -> to_graph
# apply: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


def g(x):
    return x * 2.0


def h(x):
    return x - 1.0


def apply(fn, x):
    return fn(x)


apply(f, tf.constant(1.0))
list(map(g, [tf.constant(1.0), tf.constant(2.0)]))
table = {"h": h}
table["h"](tf.constant(1.0))
