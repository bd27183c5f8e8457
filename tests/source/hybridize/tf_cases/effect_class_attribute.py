# A counter in the class.
#
# Net.step: tensor effects computes -> no (side_effects)
# Net.twice: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Net:
    calls = 0

    def step(self, x):
        Net.calls += 1
        return x + 1.0

    @classmethod
    def twice(cls, x):
        cls.calls += 2
        return x * 2.0


Net().step(tf.constant(1.0))
Net.twice(tf.constant(1.0))
