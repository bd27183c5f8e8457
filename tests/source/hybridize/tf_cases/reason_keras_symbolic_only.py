# Symbolic arguments and no primitive: still nothing for tf.function.
#
# head: ~tensor computes -> no (keras_symbolic)
import tensorflow as tf


def head(x):
    x = tf.keras.layers.Flatten()(x)
    return tf.keras.layers.Dense(2)(x)


inputs = tf.keras.Input(shape=(4, 4))
model = tf.keras.Model(inputs, head(inputs))
