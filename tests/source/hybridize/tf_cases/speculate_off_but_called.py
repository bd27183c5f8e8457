# Without speculation, but called: nothing has to be assumed.
#
# train_step: tensor computes -> to_graph
# option: no-speculate
import tensorflow as tf


def train_step(x):
    return tf.reduce_sum(x)


train_step(tf.ones([2]))
