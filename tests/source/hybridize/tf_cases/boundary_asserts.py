# An assertion gives None in eager mode, an operation in a graph, which cannot be returned.
# check: tensor computes -> no (result)
import tensorflow as tf


def check(x):
    return tf.debugging.assert_non_negative(x)


check(tf.ones([2]))
