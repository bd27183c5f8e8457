# Structures of tensors through tf.nest.
# double: tensor computes -> to_graph
# apply: tensor computes -> to_graph
import tensorflow as tf
def double(t):
    return t * 2.0
def apply(tree):
    return tf.nest.map_structure(double, tree)
apply({"a": tf.ones([1]), "b": [tf.zeros([2])]})
