# The list is filled in a loop before it is given.
#
# total: tensor computes -> to_graph
import tensorflow as tf


def total(xs):
    return tf.add_n(xs)


xs = []
for i in range(3):
    xs.append(tf.ones([2]) * float(i))
total(xs)
