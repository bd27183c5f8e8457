# A property that gives a tensor.
#
# Net.weight: computes -> no (no_tensor_parameter)
# f: tensor computes -> to_graph
import tensorflow as tf


class Net:
    def __init__(self):
        self.w = tf.ones([2])

    @property
    def weight(self):
        return self.w * 2.0


def f(x):
    return tf.reduce_sum(x)


f(Net().weight)
