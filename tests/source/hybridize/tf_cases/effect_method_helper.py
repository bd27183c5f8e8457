# The effect is in another method.
#
# Net.__init__: ~effects -> ~
# Net.count: effects -> no
# Net.step: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Net:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1

    def step(self, x):
        self.count()
        return x * 2.0


Net().step(tf.constant(1.0))
