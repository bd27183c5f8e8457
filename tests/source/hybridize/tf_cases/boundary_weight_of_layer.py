# A weight of Keras that is passed does not.
# freeze: tensor computes assumed -> to_graph
import tensorflow as tf


def freeze(weight, value):
    weight.assign(value * 2.0)
    return tf.reduce_sum(value)


layer = tf.keras.layers.Dense(2)
layer.build([1, 3])
freeze(layer.kernel, tf.ones([3, 2]))
