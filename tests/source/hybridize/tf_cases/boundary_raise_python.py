# Python decides on this one, while the graph is traced.
# checked: tensor computes -> to_graph
import tensorflow as tf


def checked(x):
    if x.shape[-1] != 2:
        raise ValueError("two columns")
    return tf.reduce_sum(x, -1)


checked(tf.ones([3, 2]))
