# A functional model that is called in a function.
#
# build: ~computes -> no
# predict: tensor computes -> to_graph
import tensorflow as tf
from tensorflow.keras import layers


def build():
    inputs = layers.Input(shape=(3,))
    hidden = layers.Dense(4, kernel_initializer="ones")(inputs)
    return tf.keras.Model(inputs=inputs, outputs=layers.Dense(1, kernel_initializer="ones")(hidden))


model = build()


def predict(x):
    return model(x, training=False)


predict(tf.ones([2, 3]))
