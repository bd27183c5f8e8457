# A class as a decorator.
#
# Counted.__init__: ~effects -> ~
# Counted.__call__: tensor effects computes -> no (side_effects)
# f: tensor computes -> to_graph
import tensorflow as tf


class Counted:
    def __init__(self, fn):
        self.fn = fn
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.fn(x)


@Counted
def f(x):
    return x + 1.0


f(tf.constant(1.0))
