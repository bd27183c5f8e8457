# functools.partial binds a tensor.
#
# affine: tensor computes -> to_graph
import functools

import tensorflow as tf


def affine(w, b, x):
    return w * x + b


layer = functools.partial(affine, tf.constant(2.0), tf.constant(1.0))
layer(tf.constant([1.0, 2.0]))
