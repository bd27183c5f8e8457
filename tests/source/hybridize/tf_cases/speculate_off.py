# The same names without speculation.
#
# train_step: tensor? ~primitive ~computes -> no?
# Net.call: tensor? ~primitive ~computes -> no?
# option: no-speculate
import tensorflow as tf


def train_step(x):
    return tf.reduce_sum(x)


class Net(tf.keras.Model):
    def call(self, x):
        return tf.tanh(x)
