# A loop on a tensor condition that changes a shape.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    while tf.reduce_sum(x) < 10.0:
        x = tf.concat([x, x], 0)
    return x


f(tf.constant([1.0]))
