# Named tuples of tensors are containers.
# loss: tensor computes -> to_graph
# make: tensor -> no
from typing import NamedTuple
import collections
import tensorflow as tf
Old = collections.namedtuple("Old", "x y")
class Batch(NamedTuple):
    x: tf.Tensor
    y: tf.Tensor
def make(x, y):
    return Batch(x, y)
def loss(batch):
    return tf.reduce_mean(batch.x - batch.y)
loss(make(tf.ones([1]), tf.ones([1])))
loss(Old(tf.ones([1]), tf.ones([1])))
