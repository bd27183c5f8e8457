# Code that never runs is code all the same.
#
# f: tensor ~effects computes -> ~
# g: tensor effects computes -> no
import tensorflow as tf

DEBUG = False


def f(x):
    if False:
        print("never")
    return x + 1.0


def g(x):
    if DEBUG:
        print("sometimes")
    return x + 1.0


f(tf.constant(1.0))
g(tf.constant(1.0))
