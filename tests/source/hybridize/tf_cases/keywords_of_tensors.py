# Tensors arrive as keywords.
#
# f: tensor computes -> to_graph
import tensorflow as tf
def f(**kw):
    return kw["x"] * kw["y"]
f(x=tf.ones([2]), y=tf.zeros([2]))
