# load: primitive ~computes -> no
# scale: tensor computes -> ~
import tensorflow as tf


def scale(x, y):
    return tf.cast(x, tf.float32) / 10.0, y


def load(n, batch=2):
    x = tf.reshape(tf.range(n * 2), [n, 2])
    y = tf.ones([n, 1])
    return tf.data.Dataset.from_tensor_slices((x, y)).map(scale).batch(batch)
