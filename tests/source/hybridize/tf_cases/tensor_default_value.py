# The default itself is a tensor.
#
# f: tensor computes -> to_graph
import tensorflow as tf

ONE = tf.constant(1.0)


def f(x=ONE):
    return x + 1.0


f()
