# A function that returns a function.
#
# scaled: primitive -> no?
# scaled.apply: tensor computes -> to_graph
import tensorflow as tf


def scaled(weights):
    def apply(x):
        return x * weights[0]

    return apply


scaled([2.0])(tf.constant([1.0]))
