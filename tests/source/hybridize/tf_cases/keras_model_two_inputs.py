# A model of two inputs, given as a tuple.
#
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, inputs):
        a, b = inputs
        return tf.concat([a, b], axis=-1)


Net()((tf.ones([2, 3]), tf.ones([2, 1])))
