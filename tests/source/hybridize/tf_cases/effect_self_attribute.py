# A counter in `self`.
#
# Net.__init__: ~effects -> ~
# Net.step: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Net:
    def __init__(self):
        self.steps = 0

    def step(self, x):
        self.steps += 1
        return x * 2.0


net = Net()
net.step(tf.constant(1.0))
