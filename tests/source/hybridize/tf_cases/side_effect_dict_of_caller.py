# The caller's dict is filled.
# note: tensor effects computes -> no (side_effects)
import tensorflow as tf


def note(x, record):
    record["mean"] = tf.reduce_mean(x)
    return x


note(tf.ones([2]), {})
