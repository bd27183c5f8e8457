# A model with leftovers of debugging in one of its layers.
#
# debug: ~tensor ~primitive effects -> no
# Probe.call: tensor effects ~computes -> no (side_effects)
# Net.call: tensor effects computes -> no (side_effects)
# clean: tensor computes -> to_graph
import tensorflow as tf

DEBUG = True


def debug(*things):
    if DEBUG:
        print(*things)


class Probe(tf.keras.layers.Layer):
    def call(self, x):
        debug("probe", x.shape)
        return x


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.Sequential([tf.keras.layers.Dense(3)])
        self.probe = Probe()

    def call(self, x):
        return tf.nn.softmax(self.probe(self.body(x)))


def clean(logits):
    return tf.argmax(logits, -1)


clean(Net()(tf.ones([1, 2])))
