# A method counts its calls on its object.
# Meter.update: tensor effects computes -> no (side_effects)
# Meter.mean: tensor computes -> to_graph
import tensorflow as tf


class Meter:
    def __init__(self):
        self.calls = 0

    def update(self, x):
        self.calls += 1
        return tf.reduce_mean(x)

    def mean(self, x):
        return tf.reduce_mean(x)


meter = Meter()
meter.update(tf.ones([2]))
meter.mean(tf.ones([2]))
