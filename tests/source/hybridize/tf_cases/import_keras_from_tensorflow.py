# from tensorflow import keras.
#
# Net.__init__: ~effects ~computes -> ~
# Net.call: tensor computes -> to_graph
import tensorflow as tf
from tensorflow import keras


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)


Net()(tf.ones([1, 3]))
