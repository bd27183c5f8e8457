# A string as a name is fine.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return tf.add(x, 1.0, name="plus_one")


f(tf.constant(1.0))
