# The name is a number.
# total: tensor computes -> no (name_argument)
import tensorflow as tf


def total(x):
    return tf.reduce_sum(x, axis=0, name=7)


total(tf.ones([2, 2]))
