# A primitive parameter of a method.
#
# Net.scale: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


class Net:
    def scale(self, x, by):
        return x * by


net = Net()
net.scale(tf.constant([1.0]), 2.0)
net.scale(tf.constant([1.0]), 3.0)
