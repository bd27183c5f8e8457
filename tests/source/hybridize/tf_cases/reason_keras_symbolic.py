# The arguments are symbolic tensors of Keras, not tensors.
#
# block: ~tensor primitive computes -> no
import tensorflow as tf


def block(x, units):
    return tf.keras.layers.Dense(units, activation="relu")(x)


inputs = tf.keras.Input(shape=(4,))
outputs = block(block(inputs, 8), 2)
model = tf.keras.Model(inputs, outputs)
