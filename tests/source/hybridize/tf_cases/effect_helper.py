# The effect is in a function that is called.
#
# log: effects primitive -> no
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def log(message):
    print(message)


def f(x):
    log("in f")
    return x + 1.0


f(tf.constant(1.0))
