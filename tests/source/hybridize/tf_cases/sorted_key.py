# A key function and a reducer.
# size: tensor computes -> to_graph
# largest: tensor computes -> to_graph
import functools
import tensorflow as tf
def size(x):
    return tf.size(x)
def largest(xs):
    return functools.reduce(lambda a, b: tf.concat([a, b], 0), sorted(xs, key=lambda t: t.shape[0]))
largest([tf.ones([3]), tf.ones([1])])
size(tf.ones([2]))
