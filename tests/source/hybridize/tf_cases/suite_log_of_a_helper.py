# The helper keeps a list that outlives the call.
# loss: tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


def remember(value):
    seen.append(value)


def loss(x):
    value = tf.reduce_sum(x)
    remember("loss")
    return value


loss(tf.ones([2]))
