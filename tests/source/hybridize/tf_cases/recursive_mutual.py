# Two functions that call each other.
#
# even: tensor recursive computes -> no (recursive)
# odd: tensor recursive computes -> no (recursive)
# ask: tensor computes -> unsafe
import tensorflow as tf


def even(x):
    return x if x <= 0.0 else odd(x - 1.0)


def odd(x):
    return x if x <= 0.0 else even(x - 1.0)


def ask(x):
    return even(x) + 1.0


ask(tf.constant(3.0))
