# An assignment that runs a property's setter.
#
# Box.value: ~tensor ~primitive ~effects ~computes -> ~
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Box:
    def __init__(self):
        self._value = 0

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new


box = Box()


def f(x):
    box.value = 3
    return x + 1.0


f(tf.constant(1.0))
