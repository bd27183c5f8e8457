# Summaries are operations of the graph. (Running this needs TensorBoard.)
#
# f: tensor computes -> to_graph
# truth: skip
import tensorflow as tf


def f(x):
    tf.summary.scalar("mean", tf.reduce_mean(x), step=0)
    return x + 1.0


f(tf.constant([1.0]))
