# iter and next.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


def g(x):
    return x + 2.0


dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
iterator = iter(dataset)
f(next(iterator))
g(iterator.get_next())
f(next(iter(dataset)))
