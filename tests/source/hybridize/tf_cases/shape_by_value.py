# How many are left, nobody knows in a trace.
# rest: tensor computes assumed -> to_graph
import tensorflow as tf


def rest(x):
    kept = tf.boolean_mask(x, x > 0.0)
    return tf.reduce_sum(kept) / float(kept.shape[0])


rest(tf.constant([-1.0, 2.0, 4.0]))
