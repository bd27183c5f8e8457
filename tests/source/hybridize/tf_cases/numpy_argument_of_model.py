# An array is no tensor.
#
# predict: tensor computes -> to_graph
import tensorflow as tf
import numpy as np
model = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)])
def predict(x):
    return model(x, training=False)
predict(np.ones((1, 2), np.float32))
