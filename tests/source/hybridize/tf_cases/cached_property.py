# functools.cached_property stores on the object by itself.
# Stats.__init__: ~effects ~tensor -> ~
# Stats.mean: ~effects computes -> no
import functools
import tensorflow as tf
class Stats:
    def __init__(self, x):
        self.x = x
    @functools.cached_property
    def mean(self):
        return tf.reduce_mean(self.x)
Stats(tf.ones([2])).mean
