# Tensors in a dataclass: the parameter is an object, not a tensor and not a container.
#
# loss: ~tensor computes -> ~
# f: tensor computes -> to_graph
from dataclasses import dataclass

import tensorflow as tf


@dataclass
class Batch:
    x: tf.Tensor
    y: tf.Tensor


def f(x, y):
    return x - y


def loss(batch):
    return f(batch.x, batch.y)


loss(Batch(tf.ones([2]), y=tf.zeros([2])))
