# A layer is made, with weights, at every call.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
    return dense(x)


f(tf.ones([1, 2]))
