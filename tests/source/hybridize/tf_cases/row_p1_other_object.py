# P1: the second parameter is neither a tensor nor a primitive.
#
# Scaler.__init__: ~effects ~primitive ~tensor ~computes -> ~
# apply: tensor computes -> to_graph
import tensorflow as tf


class Scaler:
    def __init__(self, factor):
        self.factor = factor


def apply(x, scaler):
    return x * scaler.factor


apply(tf.constant([1.0]), Scaler(3.0))
