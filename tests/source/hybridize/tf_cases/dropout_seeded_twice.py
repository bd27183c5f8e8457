# Two operations of one seed go on in one stream eagerly, and begin two streams in a graph.
# noisy: tensor computes assumed -> to_graph
import tensorflow as tf
def noisy(x):
    return tf.nn.dropout(x, 0.5, seed=7) + tf.nn.dropout(x, 0.5, seed=7)
noisy(tf.ones([8]))
