# Called only by a function that nobody calls: what it would give is known all the same.
#
# f: tensor computes -> to_graph
# experiment: effects ~computes -> no (no_tensor_parameter)
import tensorflow as tf


def f(x):
    return tf.reduce_sum(x)


def experiment():
    print(f(tf.ones([3])))
