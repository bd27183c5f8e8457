# A property that makes its value on first use writes to the object.
# Lazy.__init__: ~effects ~tensor -> ~
# Lazy.norm: effects computes -> no
# use: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Lazy:
    def __init__(self, x):
        self.x = x
        self._norm = None
    @property
    def norm(self):
        if self._norm is None:
            self._norm = tf.norm(self.x)
        return self._norm
lazy = Lazy(tf.ones([3]))
def use(y):
    return y / lazy.norm
use(tf.ones([3]))
