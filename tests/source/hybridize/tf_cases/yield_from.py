# Generators that hand on to others.
#
# inner: computes -> no
# outer: computes -> no
# f: tensor computes -> to_graph
import tensorflow as tf


def inner():
    yield tf.ones([2]) * 2.0
    yield tf.zeros([2]) + 1.0


def outer():
    yield from inner()


def f(x):
    return tf.reduce_sum(x)


for x in outer():
    f(x)
