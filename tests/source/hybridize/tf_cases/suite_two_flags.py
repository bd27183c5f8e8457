# Flags have two values: two graphs at most.
# layer: tensor computes -> to_graph
import tensorflow as tf


def layer(x, training, normalize=False):
    y = x * 2.0 if training else x
    return y / tf.reduce_sum(y) if normalize else y


layer(tf.ones([2]), True)
layer(tf.ones([2]), False, normalize=True)
