# Lists that are added, sliced, reversed and sorted keep their tensors.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


def f(xs):
    return tf.add_n(xs)


def g(xs):
    return xs[0] - xs[1]


a = [tf.constant(1.0)]
b = [tf.constant(2.0)]
f((a + b)[0:2])
g(list(reversed(a + b)))
