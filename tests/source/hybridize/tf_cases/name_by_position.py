# A dtype stands where the name of the operation belongs.
# root: tensor computes -> no (name_argument)
import tensorflow as tf


def root(x):
    return tf.sqrt(x, tf.float32)


root(tf.constant([4.0]))
