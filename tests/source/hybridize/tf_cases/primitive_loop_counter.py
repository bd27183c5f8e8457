# The counter of a loop: a Python number that differs in every call. The wording of the rule leaves it open whether it
# is a constant, but a graph would be traced per value.
#
# f: tensor ~primitive computes -> unsafe
import tensorflow as tf


def f(x, step):
    return x * step


for step in range(3):
    f(tf.constant([1]), step)
