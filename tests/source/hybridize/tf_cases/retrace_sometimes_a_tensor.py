# One caller passes a number, the other a tensor.
# shift: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def shift(image, by):
    return image + by


shift(tf.zeros([2, 2]), tf.constant(1.0))
shift(tf.zeros([2, 2]), 0.5)
