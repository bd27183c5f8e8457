# Symbolic inputs go through a helper; real ones through the model.
# block: tensor computes -> no (keras_symbolic)
# infer: tensor computes -> to_graph
import tensorflow as tf
from tensorflow.keras import layers
def block(x):
    return layers.Dense(2, activation="relu")(x)
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, block(block(inputs)))
def infer(x):
    return model(x, training=False)
infer(tf.ones([1, 3]))
