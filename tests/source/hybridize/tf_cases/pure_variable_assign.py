# Assignments to tf.Variable are operations of the graph.
#
# f: tensor computes -> to_graph
import tensorflow as tf

total = tf.Variable(0.0)


def f(x):
    total.assign_add(tf.reduce_sum(x))
    total.assign(total * 1.0)
    return total.read_value()


f(tf.constant([1.0]))
