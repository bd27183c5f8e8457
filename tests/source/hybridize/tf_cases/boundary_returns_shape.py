# The shape is handed out: it would come back as a tensor.
# spread: tensor computes assumed -> to_graph
import tensorflow as tf


def spread(x):
    y = tf.tile(x, [2, 1])
    return y.shape


assert spread(tf.ones([2, 3]))[0] == 4
