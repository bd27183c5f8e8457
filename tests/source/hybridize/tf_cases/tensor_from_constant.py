# Ways in which a tensor is made: every one of them reaches `f`.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + x


f(tf.zeros([2, 2]))
f(tf.convert_to_tensor([1.0, 2.0]))
f(tf.random.uniform([2]))
f(tf.eye(3))
