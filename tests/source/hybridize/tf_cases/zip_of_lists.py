# Tensors from two lists that are walked together.
# mse: tensor computes -> to_graph
# evaluate: tensor computes -> to_graph
import tensorflow as tf
def mse(a, b):
    return tf.reduce_mean((a - b) ** 2)
def evaluate(left, right):
    total = 0.0
    for a, b in zip(left, right):
        total += mse(a, b)
    return total
evaluate([tf.ones([2]), tf.zeros([2])], [tf.zeros([2]), tf.ones([2])])
