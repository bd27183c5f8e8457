# `map` over pairs, and what comes out of it.
#
# scale: tensor computes -> ~
# step: tensor computes -> to_graph
import tensorflow as tf


def scale(image, label):
    return image / 255.0, label


def step(image, label):
    return image * tf.cast(label, tf.float32)


dataset = tf.data.Dataset.from_tensor_slices(([10.0, 20.0], [0, 1])).map(scale).batch(1)
for image, label in dataset:
    step(image, label)
