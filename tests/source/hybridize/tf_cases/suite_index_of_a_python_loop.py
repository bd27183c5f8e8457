# enumerate counts in Python.
# weighted: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def weighted(x, index):
    return x * float(index + 1)


for index, row in enumerate(tf.ones([3, 2])):
    weighted(row, index)
