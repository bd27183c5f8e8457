# The compatibility module.
# f: tensor computes -> no
import tensorflow.compat.v1 as tf
def f(x):
    return tf.reduce_mean(x)
f(tf.constant([1.0, 2.0]))
