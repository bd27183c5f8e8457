# The numpy function is imported by name.
#
# f: tensor ~computes -> no (numpy)
import tensorflow as tf
from numpy import asarray as to_array


def f(x):
    return to_array(x)


f(tf.constant([1.0, 2.0]))
