# Hints and calls agree.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x: tf.Tensor, flag: bool = False) -> tf.Tensor:
    return -x if flag else x + 1.0


f(tf.constant(1.0), flag=True)
