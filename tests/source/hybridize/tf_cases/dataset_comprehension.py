# A comprehension over a dataset.
#
# total: tensor computes -> to_graph
import tensorflow as tf


def total(xs):
    return tf.add_n(xs)


total([x for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0])])
