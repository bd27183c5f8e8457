# It calls itself in a branch that TensorFlow runs.
# countdown: tensor recursive computes -> no (recursive)
import tensorflow as tf


def countdown(x):
    return tf.cond(x > 0.0, lambda: countdown(x - 1.0), lambda: x)


countdown(tf.constant(2.0))
