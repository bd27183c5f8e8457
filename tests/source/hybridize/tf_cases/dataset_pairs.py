# Elements that are pairs.
#
# step: tensor computes -> to_graph
import tensorflow as tf


def step(x, y):
    return tf.reduce_mean(tf.square(x - y))


dataset = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 4.0])).batch(2)
for x, y in dataset:
    step(x, y)
