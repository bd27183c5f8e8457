# A loop over Python's range unrolls.
# powers: tensor computes -> to_graph
import tensorflow as tf


def powers(x):
    result = tf.ones_like(x)
    for _ in range(4):
        result = result * x + 1.0
    return result


powers(tf.constant([0.5]))
