# None does not count.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x, mask):
    if mask is None:
        return x + 1.0
    return x * mask


f(tf.constant([1.0]), None)
