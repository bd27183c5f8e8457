# One function under two names, and a method bound to another class.
#
# f: tensor computes -> to_graph
# helper: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


g = f


def helper(self, x):
    return x * self.k


class Net:
    k = 2.0
    apply = helper


g(tf.constant(1.0))
net = Net()
net.apply(tf.constant(1.0))
