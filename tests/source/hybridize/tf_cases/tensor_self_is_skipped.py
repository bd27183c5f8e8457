# `self` does not count as a parameter.
#
# Net.__init__: ~effects ~computes -> ~
# Net.weight: computes -> no (no_tensor_parameter)
import tensorflow as tf


class Net:
    def __init__(self):
        self.w = tf.ones([2])

    def weight(self):
        return self.w * 2.0


Net().weight()
