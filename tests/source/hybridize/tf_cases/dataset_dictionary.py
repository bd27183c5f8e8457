# Elements that are dictionaries.
#
# step: tensor computes -> to_graph
import tensorflow as tf


def step(batch):
    return batch["x"] * batch["w"]


dataset = tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0], "w": [3.0, 4.0]})
for batch in dataset:
    step(batch)
