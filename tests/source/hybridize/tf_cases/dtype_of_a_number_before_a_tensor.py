# A graph makes a tensor of the number before it sees what the number is compared with: eager mode asks both.
# clamped: tensor computes -> unsafe
# filled: tensor computes -> unsafe
# bounded: tensor computes -> to_graph
# hidden: tensor computes -> to_graph
# scaled: tensor computes -> to_graph
import tensorflow as tf


def clamped(x):
    return tf.maximum(0, x)


def filled(x):
    return tf.where(x > 0.5, -1.0, x)


def bounded(x):
    return tf.maximum(x, 0) + tf.minimum(1.0, x)


def hidden(x):
    return tf.where(x > 0.5, x, -1)


def scaled(x):
    return 2 * x - tf.divide(1, x)


clamped(tf.constant([0.25, 0.75]))
filled(tf.constant([0.25, 0.75], tf.float64))
bounded(tf.constant([0.25, 0.75]))
hidden(tf.constant([0.25, 0.75]))
scaled(tf.constant([0.25, 0.75]))
