# The fourth argument of reduce_sum is its name.
# summed: tensor computes -> no (name_argument)
import tensorflow as tf


def summed(x):
    return tf.reduce_sum(x, 0, True, 3)


summed(tf.ones([2, 2]))
