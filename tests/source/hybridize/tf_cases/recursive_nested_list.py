# Recursion over a nested list of tensors.
#
# total: tensor recursive computes -> no (recursive)
import tensorflow as tf


def total(tree):
    if isinstance(tree, list):
        return tf.add_n([total(t) for t in tree])
    return tf.reduce_sum(tree)


total([tf.ones([2]), [tf.ones([3]), tf.ones([1])]])
