# The `training` flag is a boolean.
#
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")

    def call(self, x, training=False):
        y = self.dense(x)
        if training:
            y = y * 0.5
        return y


net = Net()
net(tf.ones([2, 3]), training=True)
net(tf.ones([2, 3]), training=False)
