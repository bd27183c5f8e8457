# Errors of operations do not arrive where they were raised.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    try:
        tf.debugging.assert_positive(x)
        return x + 1.0
    except tf.errors.InvalidArgumentError:
        return x - 1.0


f(tf.constant(-1.0))
