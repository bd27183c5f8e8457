# A tuple of numbers is no primitive parameter.
# pad: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
def pad(x, by):
    return tf.pad(x, [by, by])
pad(tf.ones([2, 2]), (1, 1))
