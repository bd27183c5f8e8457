# None and a tensor for the same parameter.
# masked: tensor computes -> to_graph
import tensorflow as tf


def masked(x, mask=None):
    if mask is not None:
        x = x * mask
    return tf.reduce_mean(x)


masked(tf.ones([3]))
masked(tf.ones([3]), tf.constant([0.0, 1.0, 1.0]))
