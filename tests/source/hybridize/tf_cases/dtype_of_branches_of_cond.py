# A graph holds both functions of `tf.cond`: they have to give one dtype.
# brighter: tensor computes -> unsafe
# darker: tensor computes -> to_graph
import tensorflow as tf


def brighter(image):
    return tf.cond(tf.reduce_max(image) < 200.0, lambda: tf.cast(image * 1.2, tf.uint8), lambda: image)


def darker(image):
    return tf.cond(tf.reduce_max(image) < 200.0, lambda: image * 0.8, lambda: image)


brighter(tf.constant([100.0, 150.0]))
darker(tf.constant([100.0, 150.0]))
