# A tf.Module with a list of layers.
# Linear.__init__: ~effects ~primitive ~computes -> ~
# Linear.__call__: tensor computes -> to_graph
# Mlp.__init__: ~effects ~primitive ~computes -> ~
# Mlp.__call__: tensor computes -> to_graph
import tensorflow as tf
class Linear(tf.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = tf.Variable(tf.ones([i, o]))
    def __call__(self, x):
        return x @ self.w
class Mlp(tf.Module):
    def __init__(self, sizes):
        super().__init__()
        self.parts = [Linear(a, b) for a, b in zip(sizes, sizes[1:])]
    def __call__(self, x):
        for part in self.parts[:-1]:
            x = tf.nn.relu(part(x))
        return self.parts[-1](x)
net = Mlp([2, 3, 1])
net(tf.ones([1, 2]))
