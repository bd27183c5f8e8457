# `.numpy()` exists on eager tensors only.
#
# f: tensor computes -> no (eager_only)
import tensorflow as tf


def f(x):
    return float((x * 2.0).numpy())


f(tf.constant(1.0))
