# A Python loop with a counter around tensors.
# newton: tensor primitive computes -> no (primitive_parameter)
# settle: tensor computes -> to_graph
import tensorflow as tf
def newton(x, steps):
    i = 0
    while i < steps:
        x = x - (x * x - 2.0) / (2.0 * x)
        i += 1
    return x
def settle(x):
    while tf.reduce_sum(x) > 1.0:
        x = x / 2.0
    return x
newton(tf.constant(1.0), 4)
settle(tf.constant([4.0, 4.0]))
