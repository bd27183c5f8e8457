# Methods that are inherited and overridden.
#
# Base.run: tensor computes -> to_graph
# Child.step: tensor computes -> to_graph
import tensorflow as tf


class Base:
    def run(self, x):
        return self.step(x) * 2.0

    def step(self, x):
        raise NotImplementedError


class Child(Base):
    def step(self, x):
        return x + 1.0


Child().run(tf.constant(1.0))
