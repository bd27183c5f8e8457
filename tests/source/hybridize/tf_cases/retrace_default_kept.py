# Nobody overrides the default.
# pool: tensor computes -> to_graph
import tensorflow as tf


def pool(x, size=2):
    return tf.nn.max_pool1d(x, size, size, "VALID")


pool(tf.ones([1, 4, 1]))
