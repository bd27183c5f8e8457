# An object of the caller's counts.
# Meter.__init__: ~effects ~computes -> ~
# Meter.add: tensor effects computes -> no (side_effects)
# Meter.mean: computes -> no (no_tensor_parameter)
# run: tensor effects ~computes -> no (side_effects)
import tensorflow as tf
class Meter:
    def __init__(self):
        self.total = tf.constant(0.0)
        self.n = 0
    def add(self, value):
        self.total = self.total + value
        self.n += 1
    def mean(self):
        return self.total / float(self.n)
meter = Meter()
def run(x):
    meter.add(x)
    return x
run(tf.constant(2.0))
meter.mean()
