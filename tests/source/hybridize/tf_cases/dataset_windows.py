# Padded batches, windows, unbatch, apply, batch of dictionaries.
#
# step: tensor computes -> to_graph
# named: tensor computes -> to_graph
import tensorflow as tf


def step(x):
    return tf.reduce_sum(x)


def named(batch, label):
    return tf.reduce_sum(batch["a"]) * label[0]


ds = tf.data.Dataset.range(6)
for window in ds.window(3):
    for x in window.batch(3):
        step(x)
for x in ds.padded_batch(4).unbatch():
    step(x)
for batch, label in tf.data.Dataset.from_tensor_slices(({"a": [1.0, 2.0]}, [1.0, 0.0])).batch(2):
    named(batch, label)
