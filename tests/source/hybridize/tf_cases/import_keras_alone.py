# Keras by itself.
#
# Net.call: tensor computes -> to_graph
import keras
import tensorflow as tf
from keras import layers


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)


Net()(tf.ones([1, 3]))
