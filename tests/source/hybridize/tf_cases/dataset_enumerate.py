# enumerate over a dataset, by Python and by the dataset's own method.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


def g(index, x):
    return x * tf.cast(index, tf.float32)


dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
for i, x in enumerate(dataset):
    f(x)
for index, x in dataset.enumerate():
    g(index, x)
