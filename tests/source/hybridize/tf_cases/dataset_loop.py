# The elements of a dataset are tensors.
#
# step: tensor computes -> to_graph
import tensorflow as tf


def step(x):
    return x * 2.0


for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]):
    step(x)
