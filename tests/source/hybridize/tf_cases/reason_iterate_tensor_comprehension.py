# A comprehension over a tensor parameter.
#
# f: tensor computes -> no (iterates_tensor)
import tensorflow as tf


def f(xs):
    return tf.stack([x * 2.0 for x in xs])


f(tf.constant([1.0, 2.0, 3.0]))
