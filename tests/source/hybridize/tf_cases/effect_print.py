# print is an effect.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def f(x):
    print("shape", x.shape)
    return x + 1


f(tf.constant([1, 2]))
