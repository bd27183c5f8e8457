# Draws from a seed that is passed are the same in a graph.
# sticks: tensor computes -> to_graph
import tensorflow as tf


def sticks(seed, alpha):
    draws = tf.random.stateless_gamma([4, 3], seed, alpha)
    return draws / tf.reduce_sum(draws, axis=-1, keepdims=True)


for step in range(3):
    print(sticks(tf.constant([step, 7]), tf.constant([1.0, 2.0, 3.0])).numpy().round(4))
