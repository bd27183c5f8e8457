# A named tuple of tensors.
#
# loss: tensor computes -> to_graph
from collections import namedtuple

import tensorflow as tf

Batch = namedtuple("Batch", ["x", "y"])


def loss(batch):
    return tf.reduce_mean(tf.square(batch.x - batch.y))


loss(Batch(tf.ones([2]), tf.zeros([2])))
