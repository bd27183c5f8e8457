# tf.print is an operation of the graph.
#
# f: tensor computes -> to_graph
import sys

import tensorflow as tf


def f(x):
    tf.print("x is", tf.reduce_sum(x), output_stream=sys.stdout)
    return x + 1.0


f(tf.constant([1.0]))
