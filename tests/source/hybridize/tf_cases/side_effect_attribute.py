# An object counts its batches.
# Meter.__init__: effects -> no
# Meter.update: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Meter:
    def __init__(self):
        self.batches = 0

    def update(self, x):
        self.batches += 1
        return tf.reduce_mean(x)


meter = Meter()
meter.update(tf.ones([4]))
