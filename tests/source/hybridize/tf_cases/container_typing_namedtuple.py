# A class derived from typing.NamedTuple.
#
# loss: tensor computes -> to_graph
from typing import NamedTuple

import tensorflow as tf


class Batch(NamedTuple):
    x: tf.Tensor
    y: tf.Tensor


def loss(batch):
    return tf.reduce_mean(tf.abs(batch.x - batch.y))


loss(Batch(x=tf.ones([2]), y=tf.zeros([2])))
