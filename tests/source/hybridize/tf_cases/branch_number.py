# A branch on a tensor sets a Python number.
# level: tensor computes assumed -> to_graph
import tensorflow as tf


def level(x):
    count = 1
    if tf.reduce_sum(x) > 1.0:
        count = 2
    return x * float(count)


level(tf.ones([2]))
