# Two functions call each other.
#
# even: tensor recursive computes -> no (recursive)
# odd: tensor recursive computes -> no (recursive)
import tensorflow as tf
def even(x):
    if tf.reduce_sum(x) <= 0:
        return x
    return odd(x - 1.0)
def odd(x):
    if tf.reduce_sum(x) <= 0:
        return x
    return even(x - 1.0)
even(tf.constant([2.0]))
