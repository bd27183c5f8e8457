# Somebody does.
# pool: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def pool(x, size=2):
    return tf.nn.max_pool1d(x, size, size, "VALID")


pool(tf.ones([1, 4, 1]))
pool(tf.ones([1, 4, 1]), size=4)
