# Callbacks of datasets: filter, flat_map, reduce, interleave, and what comes out.
#
# positive: tensor computes -> ~
# expand: tensor ~computes -> ~
# add: tensor computes -> ~
# step: tensor computes -> to_graph
import tensorflow as tf


def positive(x):
    return x > 0


def expand(x):
    return tf.data.Dataset.from_tensors(x).repeat(2)


def add(total, x):
    return total + x


def step(x):
    return x * 2


ds = tf.data.Dataset.range(-2, 4).filter(positive).flat_map(expand).cache().skip(1)
step(ds.reduce(tf.constant(0, tf.int64), add))
for x in ds.concatenate(ds).take(2).enumerate(start=1):
    step(x[1])
