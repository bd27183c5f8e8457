# A variable that only one branch of a tensor condition defines.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    if x > 0.0:
        y = x * 2.0
    return y


f(tf.constant(1.0))
