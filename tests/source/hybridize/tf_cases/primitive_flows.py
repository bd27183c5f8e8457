# Numbers that arrive on winding ways.
#
# a: tensor primitive computes -> no
# b: tensor primitive computes -> no
# c: tensor primitive computes -> no
# d: tensor primitive computes -> no (primitive_parameter)
# outer: tensor primitive computes -> no
import tensorflow as tf

OPTIONS = {"n": 3}
t = tf.constant([1.0])


def get():
    return 4


def a(x, n):
    return x * n


def b(x, n):
    return x * n


def c(x, n):
    return x * n


def d(x, options):
    return x * options["n"]


def outer(x, n=1):
    return c(x, n)


a(t, get())
for n in (1, 2, 3):
    b(t, n)
d(t, OPTIONS)
outer(t)
outer(t, n=7)
