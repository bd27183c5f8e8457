# A constant that comes through a variable.
#
# step: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf

RATE = 0.1


def step(w, g, rate):
    return w - rate * g


step(tf.ones([2]), tf.ones([2]), RATE)
