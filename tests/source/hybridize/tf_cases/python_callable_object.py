# An object with __call__.
#
# Affine.__init__: ~effects ~primitive -> ~
# Affine.__call__: tensor computes -> to_graph
import tensorflow as tf


class Affine:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


Affine(2.0)(tf.constant([1.0]))
