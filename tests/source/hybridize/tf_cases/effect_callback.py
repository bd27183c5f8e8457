# The effect comes from a function that is given.
#
# shout: effects tensor -> no (side_effects)
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def shout(x):
    print("got one")


def f(x, callback):
    callback(x)
    return x + 1.0


f(tf.constant(1.0), shout)
