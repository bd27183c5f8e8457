# A list made by a comprehension.
#
# total: tensor computes -> to_graph
import tensorflow as tf


def total(xs):
    return tf.reduce_sum(tf.stack(xs))


total([tf.fill([2], float(i)) for i in range(3)])
