# A write in a comprehension.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


def f(x):
    [seen.append(n) for n in range(2)]
    return x + 1.0


f(tf.constant(1.0))
