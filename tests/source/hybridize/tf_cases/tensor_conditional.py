# Joined over branches: one of them is a tensor.
#
# f: tensor computes -> to_graph
import os

import tensorflow as tf

x = None
if os.environ.get("NOT_SET_ANYWHERE", "") == "":
    x = tf.constant([1.0, 2.0])


def f(x):
    return tf.reduce_sum(x)


f(x)
