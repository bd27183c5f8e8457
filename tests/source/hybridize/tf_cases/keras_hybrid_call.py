# `call` is hybrid already.
#
# Net.call: hybrid tensor computes -> add_signature|keep
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)

    @tf.function
    def call(self, x):
        return self.dense(x)


Net()(tf.ones([2, 3]))
