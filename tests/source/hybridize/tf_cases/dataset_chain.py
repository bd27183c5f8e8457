# A chain of transformations.
#
# step: tensor computes -> to_graph
import tensorflow as tf


def step(x):
    return tf.reduce_sum(x)


dataset = tf.data.Dataset.range(10).shuffle(10, seed=1).repeat(2).batch(4).prefetch(tf.data.AUTOTUNE)
for batch in dataset.take(3):
    step(batch)
