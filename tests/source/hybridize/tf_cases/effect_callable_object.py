# An object that is called, with an effect.
#
# Recorder.__init__: ~effects -> ~
# Recorder.__call__: effects tensor ~computes -> no (side_effects)
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Recorder:
    def __init__(self):
        self.ranks = []

    def __call__(self, x):
        self.ranks.append(len(x.shape))
        return x


recorder = Recorder()


def f(x):
    return recorder(x) + 1.0


f(tf.constant(1.0))
