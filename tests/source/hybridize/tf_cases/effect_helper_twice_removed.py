# Two calls down.
#
# note: effects -> no
# middle: tensor effects computes -> no (side_effects)
# outer: tensor effects computes -> no (side_effects)
import tensorflow as tf

count = 0


def note():
    global count
    count += 1


def middle(x):
    note()
    return x + 1.0


def outer(x):
    return middle(x) * 2.0


outer(tf.constant(1.0))
