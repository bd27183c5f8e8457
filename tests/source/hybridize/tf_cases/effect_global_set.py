# A global set grows.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

ranks = set()


def f(x):
    ranks.add(len(x.shape))
    return x + 1.0


f(tf.constant([1.0]))
