# The same, one call down.
#
# value: tensor ~computes -> no (eager_only)
# f: tensor computes -> no (eager_only)
import tensorflow as tf


def value(x):
    return x.numpy()


def f(x):
    return x + value(x * 2.0)


f(tf.constant(1.0))
