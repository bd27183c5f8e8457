# The same on a variable in `self`.
#
# Counter.__init__: ~effects ~computes -> ~
# Counter.step: tensor computes -> to_graph
import tensorflow as tf


class Counter(tf.Module):
    def __init__(self):
        super().__init__()
        self.steps = tf.Variable(0)

    def step(self, x):
        self.steps.assign_add(1)
        return x * 2


Counter().step(tf.constant(3))
