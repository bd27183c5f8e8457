# `tf.function` applied where the function is used.
# body: tensor ~hybrid computes -> ~
# plain: tensor computes -> to_graph
import tensorflow as tf
def body(x):
    return tf.exp(x)
def plain(x):
    return tf.exp(-x)
fast = tf.function(body)
fast(tf.ones([1]))
plain(tf.ones([1]))
