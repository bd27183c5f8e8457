# A generator that gives tensors.
#
# batches: computes -> no
# f: tensor computes -> to_graph
import tensorflow as tf


def batches():
    for i in range(3):
        yield tf.ones([2]) * float(i)


def f(x):
    return tf.reduce_sum(x)


for batch in batches():
    f(batch)
