# A generator from outside is moved on.
#
# numbers: -> no?
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def numbers():
    n = 0.0
    while True:
        yield n
        n += 1.0


source = numbers()


def f(x):
    return x + next(source)


f(tf.constant(1.0))
