# What AutoGraph turns into operations is fine.
#
# absolute: tensor computes -> to_graph
# count: tensor computes -> to_graph
# total: tensor computes -> to_graph
# checked: tensor computes -> to_graph
import tensorflow as tf


def absolute(x):
    if x > 0.0:
        y = x
    else:
        y = -x
    return y


def count(n):
    total = tf.constant(0)
    while n > 0:
        n -= 1
        total += n
    return total


def total(xs):
    acc = tf.constant(0.0)
    for i in tf.range(tf.shape(xs)[0]):
        acc += xs[i]
    return acc


def checked(x):
    assert len(x.shape) == 1, "a vector"
    return x[0] if x.shape[0] else x


absolute(tf.constant(-1.0))
count(tf.constant(3))
total(tf.constant([1.0, 2.0]))
checked(tf.constant([1.0]))
