# An element of a global dictionary is deleted.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

pending = {1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f"}


def f(x):
    if pending:
        del pending[min(pending)]
    return tf.square(x)


f(tf.constant(1.0))
