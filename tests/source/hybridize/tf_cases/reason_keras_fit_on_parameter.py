# The model is a parameter.
#
# train: tensor ~effects ~computes -> no (eager_only)
from tensorflow import keras
import tensorflow as tf


def train(model, x, y):
    history = model.fit(x, y, verbose=0)
    return history.history["loss"]


net = keras.Sequential([keras.layers.Dense(1)])
net.compile(loss="mse")
train(net, tf.ones([4, 2]), tf.ones([4, 1]))
