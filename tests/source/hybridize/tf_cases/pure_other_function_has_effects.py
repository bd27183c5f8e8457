# The effect is in a function that is not called from here.
#
# noisy: effects -> no
# f: tensor computes -> to_graph
import tensorflow as tf


def noisy():
    print("noise")


def f(x):
    handler = noisy
    return x + 1.0


f(tf.constant([1.0]))
noisy()
