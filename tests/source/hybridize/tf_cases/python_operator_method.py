# Operators of a class.
#
# Vec.__init__: ~effects ~tensor -> ~
# Vec.__add__: ~tensor computes -> ~
# f: tensor computes -> to_graph
import tensorflow as tf


class Vec:
    def __init__(self, t):
        self.t = t

    def __add__(self, other):
        return Vec(self.t + other.t)


def f(x):
    return tf.reduce_sum(x)


f((Vec(tf.ones([2])) + Vec(tf.ones([2]))).t)
