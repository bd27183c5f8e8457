# A factory makes the object, a static method computes.
# Gaussian.__init__: ~effects ~tensor -> ~
# Gaussian.standard: ~primitive ~computes -> no
# Gaussian.log_prob: tensor computes -> to_graph
# Gaussian.squash: tensor computes -> to_graph
import tensorflow as tf
class Gaussian:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    @classmethod
    def standard(cls, n):
        return cls(tf.zeros([n]), tf.ones([n]))
    def log_prob(self, x):
        return -0.5 * self.squash((x - self.mean) / self.std)
    @staticmethod
    def squash(z):
        return tf.reduce_sum(z * z)
g = Gaussian.standard(3)
g.log_prob(tf.ones([3]))
Gaussian.squash(tf.ones([2]))
