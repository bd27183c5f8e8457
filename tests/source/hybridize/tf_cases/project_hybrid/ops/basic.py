# helper: tensor computes -> no (callers_hybrid)
import tensorflow as tf


def helper(x):
    return tf.nn.relu(x)
