# A layer that draws its weights.
#
# softplus: tensor computes -> to_graph
# gaussian_kl: tensor computes -> to_graph
# BayesDense.build: ~tensor ~primitive ~effects ~computes -> ~
# BayesDense.call: tensor ~effects computes -> ~
# elbo: tensor computes -> to_graph
import tensorflow as tf


def softplus(x):
    return tf.math.log(1.0 + tf.exp(x))


def gaussian_kl(mu, sigma):
    return tf.reduce_sum(0.5 * (sigma**2 + mu**2 - 1.0) - tf.math.log(sigma))


class BayesDense(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.mu = self.add_weight(name="mu", shape=(shape[-1], self.units), initializer="zeros")
        self.rho = self.add_weight(name="rho", shape=(shape[-1], self.units), initializer="ones")

    def call(self, x):
        sigma = softplus(self.rho)
        w = self.mu + sigma * tf.random.normal(tf.shape(sigma))
        self.add_loss(gaussian_kl(self.mu, sigma))
        return tf.matmul(x, w)


def elbo(y, p, kl):
    return tf.reduce_mean(tf.square(y - p)) + 0.01 * tf.add_n(kl)


layer = BayesDense(2)
p = layer(tf.ones([3, 4]))
elbo(tf.ones([3, 2]), p, layer.losses)
