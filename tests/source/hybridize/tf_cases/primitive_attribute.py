# The number comes from an attribute of an object.
#
# Config.__init__: ~effects ~primitive -> ~
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


class Config:
    def __init__(self):
        self.units = 3


def f(x, units):
    return tf.tile(x, [units])


config = Config()
f(tf.ones([2]), config.units)
