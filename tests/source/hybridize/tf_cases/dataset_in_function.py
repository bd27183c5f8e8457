# A loop over a dataset inside a function; what it calls gets tensors.
#
# step: tensor computes -> to_graph
# epoch: ~tensor computes -> ~
import tensorflow as tf


def step(x, y):
    return tf.reduce_sum(x * y)


def epoch(dataset):
    total = tf.constant(0.0)
    for x, y in dataset:
        total += step(x, y)
    return total


epoch(tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 4.0])).batch(2))
