# A template method: hooks of subclasses are called by the base class.
# Base.run: tensor effects ~computes -> no (side_effects)
# Base.hook: tensor? ~primitive ~computes -> ~
# Loud.hook: tensor effects computes -> no (side_effects)
# Quiet.hook: tensor computes -> ~
import tensorflow as tf
class Base:
    def run(self, x):
        return self.hook(tf.square(x))
    def hook(self, x):
        raise NotImplementedError
class Loud(Base):
    def hook(self, x):
        print("loud")
        return x + 1.0
class Quiet(Base):
    def hook(self, x):
        return x - 1.0
for kind in (Loud, Quiet):
    kind().run(tf.ones([1]))
