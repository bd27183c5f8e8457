# A list that holds tensors only.
# added: tensor computes -> to_graph
import tensorflow as tf


def added(parts):
    return tf.add_n(parts)


added([tf.ones([2]), tf.zeros([2])])
