# An optimizer is handed out, which a graph refuses.
# prepare: tensor computes -> no (result)
import tensorflow as tf


def prepare(x):
    optimizer = tf.keras.optimizers.SGD(0.1)
    return optimizer, x * 2.0


prepare(tf.ones([2]))
