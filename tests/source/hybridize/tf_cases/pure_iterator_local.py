# An iterator that was made inside.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    it = iter([1.0, 2.0])
    a = next(it)
    b = next(it)
    return x * a + b


f(tf.constant([1.0]))
