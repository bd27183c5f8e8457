# A callable object with state in a variable.
# Ema.__init__: ~effects ~primitive ~computes -> ~
# Ema.__call__: tensor computes -> to_graph
# smooth: tensor computes -> to_graph
import tensorflow as tf
class Ema:
    def __init__(self, rate):
        self.rate = rate
        self.value = tf.Variable(0.0)
    def __call__(self, x):
        self.value.assign(self.rate * self.value + (1 - self.rate) * x)
        return self.value + 0.0
ema = Ema(0.9)
def smooth(x):
    return ema(tf.reduce_mean(x))
smooth(tf.ones([2]))
ema(tf.constant(1.0))
