# A model that prints.
#
# Net.call: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)

    def call(self, x):
        print("call")
        return self.dense(x)


Net()(tf.ones([2, 3]))
