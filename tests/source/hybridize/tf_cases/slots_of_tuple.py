# Tensors in nested tuples, lists and sets of names.
# unpack: tensor computes -> to_graph
# choose: tensor computes -> to_graph
import tensorflow as tf
def unpack(pair):
    (a, b), c = pair
    return a + b * c
def choose(x, names):
    return x * float(len(names))
unpack(((tf.ones([1]), tf.ones([1])), tf.ones([1])))
choose(tf.ones([1]), frozenset({"a", "b"}))
