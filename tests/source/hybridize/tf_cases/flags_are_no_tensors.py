# Names of TensorFlow 1 in a program that cannot run any more.
# build: -> no
# truth: skip
import tensorflow as tf

FLAGS = tf.app.flags.FLAGS


def build(units):
    return units * 2


build(FLAGS.units)
