# The function that is given to `map` gets tensors.
#
# normalise: tensor computes -> to_graph
import tensorflow as tf


def normalise(x):
    return tf.cast(x, tf.float32) / 255.0


dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(normalise)
for x in dataset:
    normalise(x)
