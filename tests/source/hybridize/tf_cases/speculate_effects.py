# A telling name does not help against an effect.
#
# train_step: tensor assumed ~primitive effects computes -> no (side_effects)
import tensorflow as tf


def train_step(x):
    print("step")
    return tf.reduce_sum(x)
