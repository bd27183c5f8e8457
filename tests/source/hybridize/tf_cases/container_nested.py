# Tensors in a dictionary of lists.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(features):
    return tf.concat(features["dense"], axis=0) + features["bias"][0]


f({"dense": [tf.ones([2]), tf.zeros([2])], "bias": (tf.constant(1.0), None)})
