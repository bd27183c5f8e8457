# tf.print and assertions belong to the graph.
#
# f: tensor computes -> to_graph
import tensorflow as tf
def f(x):
    tf.print("x", x)
    tf.debugging.assert_positive(x)
    return x
f(tf.constant(1.0))
