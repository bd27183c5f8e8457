# Losses for segmentation, composed.
#
# flatten: tensor computes -> to_graph
# dice: tensor computes -> to_graph
# tversky: tensor computes -> to_graph
# focal: tensor primitive computes -> no (primitive_parameter)
# combined: tensor computes -> to_graph
import tensorflow as tf

SMOOTH = 1.0


def flatten(t):
    return tf.reshape(t, [-1])


def dice(y_true, y_pred):
    a, b = flatten(y_true), flatten(y_pred)
    return 1.0 - (2.0 * tf.reduce_sum(a * b) + SMOOTH) / (tf.reduce_sum(a) + tf.reduce_sum(b) + SMOOTH)


def tversky(y_true, y_pred, alpha=0.7):
    a, b = flatten(y_true), flatten(y_pred)
    tp, fn, fp = tf.reduce_sum(a * b), tf.reduce_sum(a * (1 - b)), tf.reduce_sum((1 - a) * b)
    return 1.0 - (tp + SMOOTH) / (tp + alpha * fn + (1 - alpha) * fp + SMOOTH)


def focal(y_true, y_pred, gamma):
    pt = tf.where(tf.equal(y_true, 1.0), y_pred, 1.0 - y_pred)
    return -tf.reduce_mean((1.0 - pt) ** gamma * tf.math.log(pt + 1e-7))


def combined(y_true, y_pred):
    return dice(y_true, y_pred) + tversky(y_true, y_pred) + focal(y_true, y_pred, 2.0)


mask = tf.constant([[1.0, 0.0], [0.0, 1.0]])
combined(mask, mask * 0.8 + 0.1)
