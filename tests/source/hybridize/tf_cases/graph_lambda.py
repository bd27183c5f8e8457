# A lambda in tf.function; the function next to it stays eager.
#
# f: tensor computes -> to_graph
import tensorflow as tf

g = tf.function(lambda x: x + 1.0)


def f(x):
    return x * 2.0


g(tf.constant([1.0]))
f(tf.constant([1.0]))
