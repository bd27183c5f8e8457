# A class keeps its only instance.
# Config.get: effects -> no
# use: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Config:
    _one = None
    scale = 2.0
    @classmethod
    def get(cls):
        if cls._one is None:
            cls._one = cls()
        return cls._one
def use(x):
    return x * Config.get().scale
use(tf.ones([1]))
