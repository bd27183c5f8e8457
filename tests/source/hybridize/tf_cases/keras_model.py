# A subclassed model that is called.
#
# Net.__init__: ~effects ~computes -> ~
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones")
        self.out = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.out(self.hidden(x))


net = Net()
net(tf.ones([2, 3]))
