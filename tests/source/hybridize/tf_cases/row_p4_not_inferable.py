# The other parameter is an object, for which there is no TensorSpec: nothing to add.
#
# apply: hybrid tensor computes -> no
import tensorflow as tf


class Weights:
    def __init__(self):
        self.w = tf.constant(2.0)


@tf.function
def apply(x, weights):
    return x * weights.w


apply(tf.constant([1.0]), Weights())
