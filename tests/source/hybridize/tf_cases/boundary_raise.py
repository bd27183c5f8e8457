# A check raises when a tensor says so.
# checked: tensor computes -> no
import tensorflow as tf


def checked(x):
    if tf.reduce_any(tf.math.is_nan(x)):
        raise ValueError("not a number")
    return tf.sqrt(x)


checked(tf.constant([1.0, 4.0]))
