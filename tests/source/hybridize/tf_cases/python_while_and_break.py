# Python loops over Python values.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    i = 0
    while True:
        x = x * 2.0
        i += 1
        if i > 3:
            break
    return x


f(tf.constant(1.0))
