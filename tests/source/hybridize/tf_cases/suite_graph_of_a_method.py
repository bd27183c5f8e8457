# Methods of a module: one is decorated, one is made a graph by assignment.
# Scale.__call__: hybrid tensor computes -> add_signature|keep
# Scale.inverse: tensor computes -> to_graph
import tensorflow as tf


class Scale(tf.Module):
    def __init__(self):
        self.weight = tf.Variable(2.0)

    @tf.function
    def __call__(self, x):
        return x * self.weight

    def inverse(self, x):
        return x / self.weight


scale = Scale()
scale(tf.ones([2]))
scale.inverse(tf.ones([2]))
