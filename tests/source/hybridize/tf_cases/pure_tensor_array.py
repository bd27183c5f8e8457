# TensorArray: a value of the graph.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    out = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        out = out.write(i, x * tf.cast(i, tf.float32))
    return out.stack()


f(tf.constant([1.0]))
