# Hybrid made in a constructor and kept in an attribute.
#
# Trainer.__init__: ~effects ~computes -> ~
# Trainer.step: hybrid tensor computes -> ~
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.w = tf.Variable(1.0)
        self.fast_step = tf.function(self.step)

    def step(self, x):
        return x * self.w


trainer = Trainer()
trainer.fast_step(tf.constant([1.0]))
