# Elements as numpy arrays are no tensors.
#
# f: tensor ~primitive computes -> to_graph
import tensorflow as tf


def f(x):
    return tf.square(x)


for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0]).as_numpy_iterator():
    f(x)
