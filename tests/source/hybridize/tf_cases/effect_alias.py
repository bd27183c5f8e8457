# The global goes by another name inside.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

history = []


def f(x):
    log = history
    log.append(1)
    return x + 1.0


f(tf.constant(1.0))
