# A slice of a tensor is a tensor.
#
# f: tensor computes -> to_graph
import tensorflow as tf

table = tf.reshape(tf.range(12.0), [3, 4])


def f(row):
    return tf.reduce_max(row)


f(table[0])
f(table[:, 1])
