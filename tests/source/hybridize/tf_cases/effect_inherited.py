# The method with the effect is inherited.
#
# Base.count: effects -> no
# Child.step: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Base:
    calls = 0

    def count(self):
        self.calls += 1


class Child(Base):
    def step(self, x):
        super().count()
        return x * 2.0


Child().step(tf.constant(1.0))
