# A loop walks the rows of its argument.
# rows: tensor computes -> no (iterates_tensor)
import tensorflow as tf


def rows(x):
    best = tf.constant(0.0)
    for row in x:
        best = tf.maximum(best, tf.reduce_sum(row))
    return best


rows(tf.ones([3, 2]))
