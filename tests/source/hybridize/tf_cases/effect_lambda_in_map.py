# A write through a lambda that is given to map.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


def f(x):
    list(map(lambda n: seen.append(n), [1, 2]))
    return x + 1.0


f(tf.constant(1.0))
