# A Python attribute that changes between calls.
#
# Net.f: tensor computes -> unsafe
import tensorflow as tf


class Net:
    def __init__(self):
        self.scale = 1.0

    def f(self, x):
        return x * self.scale


net = Net()
for _ in range(3):
    net.f(tf.constant([1.0]))
    net.scale = net.scale + 1.0
