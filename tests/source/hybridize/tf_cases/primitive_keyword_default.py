# A default that one caller overrides and another does not.
# norm: tensor primitive computes -> no (primitive_parameter)
# scaled: tensor computes -> to_graph
import tensorflow as tf
def norm(x, eps=1e-6):
    return x / (tf.norm(x) + eps)
def scaled(x, by=2.0):
    return x * by
norm(tf.ones([2]))
norm(tf.ones([2]), eps=1e-3)
scaled(tf.ones([1]))
