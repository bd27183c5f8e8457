# A bound method that is passed around.
#
# Net.f: tensor computes -> to_graph
# apply: tensor computes -> to_graph
import tensorflow as tf


class Net:
    def f(self, x):
        return x * 2.0


def apply(fn, x):
    return fn(x)


method = Net().f
method(tf.constant(1.0))
apply(method, tf.constant(2.0))
