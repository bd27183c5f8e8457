# A hybrid method of a tf.Module.
#
# Net.__init__: ~effects ~computes -> ~
# Net.__call__: hybrid tensor computes -> add_signature
import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([2.0])

    @tf.function
    def __call__(self, x):
        return x * self.w


Net()(tf.constant([1.0]))
