# A boolean is no primitive.
#
# f: tensor computes -> to_graph
import tensorflow as tf
def f(x, training=False):
    return tf.nn.dropout(x, 0.5) if training else x + 0.0
f(tf.ones([2]), training=True)
