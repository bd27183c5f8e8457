# A variational autoencoder with a custom loop.
#
# VAE.encode: tensor computes -> to_graph
# VAE.reparameterize: tensor computes -> to_graph
# VAE.decode: tensor computes -> to_graph
# log_normal_pdf: tensor computes -> to_graph
# compute_loss: tensor computes -> to_graph
# train_step: tensor computes -> to_graph
# main: effects ~computes -> no (no_tensor_parameter)
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class VAE(tf.keras.Model):
    def __init__(self, latent_dim):
        super().__init__()
        self.latent_dim = latent_dim
        self.encoder = tf.keras.Sequential([layers.InputLayer(shape=(8,)), layers.Dense(6, "relu"), layers.Dense(latent_dim * 2)])
        self.decoder = tf.keras.Sequential([layers.InputLayer(shape=(latent_dim,)), layers.Dense(6, "relu"), layers.Dense(8)])

    def encode(self, x):
        mean, logvar = tf.split(self.encoder(x), num_or_size_splits=2, axis=1)
        return mean, logvar

    def reparameterize(self, mean, logvar):
        eps = tf.random.normal(shape=tf.shape(mean))
        return eps * tf.exp(logvar * 0.5) + mean

    def decode(self, z):
        return self.decoder(z)


def log_normal_pdf(sample, mean, logvar):
    log2pi = tf.math.log(2.0 * np.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=1)


def compute_loss(model, x):
    mean, logvar = model.encode(x)
    z = model.reparameterize(mean, logvar)
    x_logit = model.decode(z)
    cross_ent = tf.nn.sigmoid_cross_entropy_with_logits(logits=x_logit, labels=x)
    logpx_z = -tf.reduce_sum(cross_ent, axis=[1])
    logqz_x = log_normal_pdf(z, mean, logvar)
    return -tf.reduce_mean(logpx_z - logqz_x)


def train_step(model, x, optimizer):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def main():
    model = VAE(2)
    optimizer = tf.keras.optimizers.SGD(1e-3)
    optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensor_slices(np.random.rand(8, 8).astype("float32")).batch(4)
    for epoch in range(2):
        for x in data:
            train_step(model, x, optimizer)
        print("epoch", epoch)


if __name__ == "__main__":
    main()
