# A global list is appended to.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

history = []


def f(x):
    history.append(1)
    return tf.square(x)


f(tf.constant(1.0))
