# A value that becomes a tensor in a loop.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(acc):
    return acc + tf.constant(1.0)


value = tf.constant(0.0)
for _ in range(3):
    value = f(value)
