# An object counts its calls.
#
# Counter.__init__: ~effects -> ~
# Counter.__call__: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Counter:
    def __init__(self):
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return tf.square(x)
c = Counter()
c(tf.constant(2.0))
