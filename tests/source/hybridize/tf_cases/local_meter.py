# The same, with an object made inside.
# Meter.__init__: ~effects ~computes -> ~
# Meter.add: tensor effects computes -> no (side_effects)
# run: tensor computes -> to_graph
import tensorflow as tf
class Meter:
    def __init__(self):
        self.total = tf.constant(0.0)
    def add(self, value):
        self.total = self.total + value
def run(x):
    meter = Meter()
    meter.add(x)
    meter.add(x)
    return meter.total
run(tf.constant(2.0))
