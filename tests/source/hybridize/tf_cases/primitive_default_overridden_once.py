# One of two calls overrides the default.
#
# scale: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
def scale(x, factor=2.0):
    return x * factor
scale(tf.constant(1.0))
scale(tf.constant(3.0), factor=4.0)
