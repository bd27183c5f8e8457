# Globals that are written through other doors.
#
# f: tensor effects computes -> no
# g: tensor effects computes -> no
# h: tensor effects computes -> no
import sys

import tensorflow as tf

counter = {"n": 0}
this = sys.modules[__name__]


def f(x):
    globals()["last"] = 1
    return x + 1.0


def g(x):
    setattr(this, "other", 2)
    return x + 1.0


def h(x):
    n = counter
    n["n"] = n["n"] + 1
    return x + 1.0


f(tf.constant(1.0))
g(tf.constant(1.0))
h(tf.constant(1.0))
