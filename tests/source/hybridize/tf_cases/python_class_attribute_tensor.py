# A tensor as a class attribute.
#
# Net.f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


class Net:
    weight = tf.constant([2.0])

    def f(self, x):
        return x * self.weight


def g(w):
    return w + 1.0


Net().f(tf.constant([1.0]))
g(Net.weight)
