# A list of numbers is no tensor, even though tf functions take it.
#
# mean: ~primitive computes -> no (no_tensor_parameter)
import tensorflow as tf


def mean(xs):
    return tf.reduce_mean(xs)


mean([1.0, 2.0, 3.0])
