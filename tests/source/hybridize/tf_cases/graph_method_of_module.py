# A method of a module is a graph function.
# Scaler.__init__: effects computes -> no
# Scaler.__call__: hybrid tensor computes -> add_signature
import tensorflow as tf


class Scaler(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(2.0)

    @tf.function
    def __call__(self, x):
        return x * self.factor


scaler = Scaler()
scaler(tf.constant([1.0, 2.0]))
