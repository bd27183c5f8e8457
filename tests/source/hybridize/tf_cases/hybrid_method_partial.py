# Graph functions with options, as methods and by partial.
# Net.__init__: ~effects ~computes -> ~
# Net.forward: tensor hybrid computes -> add_signature
# Net.reduce: tensor hybrid computes -> add_signature
import functools
import tensorflow as tf
graph = functools.partial(tf.function, reduce_retracing=True)
class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([2.0])
    @tf.function(jit_compile=False)
    def forward(self, x):
        return x * self.w
    @graph
    def reduce(self, x):
        return tf.reduce_sum(x)
n = Net()
n.forward(tf.ones([1]))
n.reduce(tf.ones([2]))
