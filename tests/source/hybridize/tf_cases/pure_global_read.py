# A global constant that nobody changes is only read.
#
# f: tensor computes -> to_graph
import tensorflow as tf

SCALE = 2.0


def f(x):
    global SCALE
    return x * SCALE


f(tf.constant([1.0]))
