# A generator expression of tensors.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return tf.reduce_sum(x)


sum(f(x) for x in (tf.ones([2]), tf.ones([3])))
