# A loop over the number of rows is no iteration over the tensor.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(xs):
    total = tf.constant(0.0)
    for i in range(xs.shape[0]):
        total = total + xs[i]
    return total


f(tf.constant([1.0, 2.0, 3.0]))
