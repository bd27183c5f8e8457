# A classmethod that makes an instance; the method of the instance gets a tensor.
#
# Net.f: tensor computes -> to_graph
import tensorflow as tf


class Net:
    def __init__(self, w):
        self.w = w

    @classmethod
    def default(cls):
        return cls(tf.constant([2.0]))

    def f(self, x):
        return self.w * x


Net.default().f(tf.constant([1.0]))
