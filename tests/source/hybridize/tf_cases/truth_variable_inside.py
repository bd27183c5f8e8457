# A variable is made at every call.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    v = tf.Variable(1.0)
    v.assign_add(x)
    return v.read_value()


f(tf.constant(1.0))
