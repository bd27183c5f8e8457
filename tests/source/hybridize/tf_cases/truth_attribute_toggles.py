# A flag of an object that its other methods toggle.
#
# Net.f: tensor computes -> unsafe
# Net.toggle: effects -> no
import tensorflow as tf


class Net:
    def __init__(self):
        self.training = False

    def toggle(self):
        self.training = not self.training

    def f(self, x):
        return x * 2.0 if self.training else x + 0.5


net = Net()
out = [net.f(tf.constant(1.0))]
net.toggle()
out.append(net.f(tf.constant(1.0)))
