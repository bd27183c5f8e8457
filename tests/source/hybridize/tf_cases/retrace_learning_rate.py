# A rate that changes at every step, beside a tensor.
# decay: primitive -> no
# descend: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def decay(step):
    return 0.1 * 0.5**step


def descend(weight, gradient, rate):
    return weight - rate * gradient


weight = tf.Variable([1.0, 2.0])
for step in range(3):
    weight.assign(descend(weight, tf.ones([2]), decay(step)))
