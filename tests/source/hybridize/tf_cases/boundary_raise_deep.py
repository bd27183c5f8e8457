# The check is in a helper, behind a `not`.
# positive: tensor computes -> no
# root: tensor computes -> no
import tensorflow as tf


def positive(x):
    if not tf.reduce_all(x > 0.0):
        raise ValueError("negative")
    return x


def root(x):
    return tf.sqrt(positive(x))


root(tf.constant([1.0, 4.0]))
