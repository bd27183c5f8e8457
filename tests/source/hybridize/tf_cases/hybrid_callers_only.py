# Helpers of a graph function.
# loss: tensor computes -> no (callers_hybrid)
# inner: tensor computes -> no (callers_hybrid)
# train: tensor hybrid computes -> add_signature
import tensorflow as tf
def inner(x):
    return tf.square(x)
def loss(x):
    return tf.reduce_mean(inner(x))
@tf.function
def train(x):
    return loss(x) * 2.0
train(tf.ones([2]))
