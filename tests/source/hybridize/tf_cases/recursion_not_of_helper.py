# A helper is called twice, which is no recursion.
# half: tensor computes -> to_graph
# quarter: tensor computes -> to_graph
import tensorflow as tf


def half(x):
    return x / 2.0


def quarter(x):
    return half(half(x))


quarter(tf.constant(8.0))
half(tf.constant(8.0))
