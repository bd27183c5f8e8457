# float() of a tensor is a number that differs in each step.
# damped: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def damped(x, loss):
    return x * (1.0 - loss)


x = tf.constant([0.5, 0.25])
for _ in range(3):
    x = damped(x, float(tf.reduce_sum(x)))
