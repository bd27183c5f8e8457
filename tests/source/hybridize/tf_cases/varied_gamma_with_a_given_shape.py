# The shape of a draw of gamma numbers begins with the shape that is asked for.
# sticks: tensor computes -> unsafe
import tensorflow as tf


def sticks(alpha):
    draws = tf.random.gamma([4], alpha)
    return draws / tf.reduce_sum(draws, axis=-1, keepdims=True)


for step in range(2):
    print(sticks(tf.constant([1.0, 2.0, 3.0]) + float(step)).shape)
