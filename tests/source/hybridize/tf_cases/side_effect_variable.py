# A Variable that is assigned is no side effect of Python.
# accumulate: tensor computes -> to_graph
import tensorflow as tf

total = tf.Variable(0.0)


def accumulate(x):
    total.assign_add(tf.reduce_sum(x))
    return total * 1.0


accumulate(tf.ones([3]))
