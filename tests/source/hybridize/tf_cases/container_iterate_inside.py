# Walking a Python list of tensors is no iteration over a tensor.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(xs):
    total = tf.constant(0.0)
    for x in xs:
        total = total + tf.reduce_sum(x)
    return total


f([tf.ones([2]), tf.ones([3])])
