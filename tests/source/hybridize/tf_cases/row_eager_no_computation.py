# An eager function of a tensor that computes nothing with it: a graph would bring nothing.
#
# pick: tensor -> no (no_tensor_computation)
import tensorflow as tf


def pick(pair):
    first, second = pair
    return first


pick((tf.constant(1), tf.constant(2)))
