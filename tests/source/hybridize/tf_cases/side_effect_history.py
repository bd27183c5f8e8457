# Losses are kept in a list of the module.
# loss: tensor effects computes -> no (side_effects)
import tensorflow as tf

history = []


def loss(prediction, target):
    value = tf.reduce_mean(tf.square(prediction - target))
    history.append(value)
    return value


loss(tf.ones([2]), tf.zeros([2]))
