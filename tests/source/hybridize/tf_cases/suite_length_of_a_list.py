# len and a static dimension are Python numbers.
# mean: tensor primitive computes -> no (primitive_parameter)
# rows: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def mean(total, count):
    return total / count


def rows(x, count):
    return tf.reshape(x, [count, -1])


parts = [tf.ones([2]), tf.ones([2])]
mean(tf.add_n(parts), len(parts))
images = tf.ones([4, 2, 2])
rows(images, images.shape[0])
