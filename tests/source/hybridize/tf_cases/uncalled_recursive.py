# Nobody calls it; it calls itself.
#
# f: tensor? ~primitive recursive ~computes -> no?
import tensorflow as tf


def f(x):
    return tf.square(f(x))
