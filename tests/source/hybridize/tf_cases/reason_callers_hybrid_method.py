# The same between methods.
#
# Net.helper: tensor computes -> no (callers_hybrid)
# Net.run: hybrid tensor computes -> add_signature
import tensorflow as tf


class Net:
    def helper(self, x):
        return x * 2.0

    @tf.function
    def run(self, x):
        return self.helper(x) + 1.0


net = Net()
net.run(tf.constant([1.0]))
