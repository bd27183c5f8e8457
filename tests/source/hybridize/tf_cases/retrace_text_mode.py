# A text picks the norm.
# norm: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def norm(x, kind):
    if kind == "l1":
        return tf.reduce_sum(tf.abs(x))
    return tf.sqrt(tf.reduce_sum(x * x))


norm(tf.constant([3.0, 4.0]), "l2")
norm(tf.constant([3.0, 4.0]), "l1")
