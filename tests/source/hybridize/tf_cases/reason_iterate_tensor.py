# Iteration over a tensor parameter.
#
# f: tensor computes -> no (iterates_tensor)
import tensorflow as tf


def f(xs):
    total = 0.0
    for x in xs:
        total = total + x
    return total


f(tf.constant([1.0, 2.0, 3.0]))
