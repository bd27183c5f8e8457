# A global is assigned.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

last = None


def f(x):
    global last
    last = 5
    return x + 1


f(tf.constant(1))
