# A lambda in `map`, a filter after it.
#
# step: tensor computes -> to_graph
import tensorflow as tf


def step(x):
    return x - 1


dataset = tf.data.Dataset.range(5).map(lambda x: x * 2).filter(lambda x: x > 2)
for x in dataset:
    step(x)
