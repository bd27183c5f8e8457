"""Trains a variational autoencoder."""

import math

import numpy as np
import tensorflow as tf


class VAE(tf.keras.Model):
    def __init__(self, latent=8):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(128, activation="tanh")
        self.mean = tf.keras.layers.Dense(latent)
        self.logvar = tf.keras.layers.Dense(latent)
        self.dec1 = tf.keras.layers.Dense(128, activation="tanh")
        self.dec2 = tf.keras.layers.Dense(64)

    def encode(self, x):
        h = self.hidden(x)
        return self.mean(h), self.logvar(h)

    def decode(self, z):
        return self.dec2(self.dec1(z))


def log_normal_pdf(sample, mean, logvar):
    log2pi = tf.math.log(2.0 * math.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=1)


def compute_loss(model, x, noise):
    mean, logvar = model.encode(x)
    z = mean + tf.exp(0.5 * logvar) * noise
    logits = model.decode(z)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=x)
    logpx = -tf.reduce_sum(entropy, axis=1)
    logpz = log_normal_pdf(z, tf.zeros_like(z), tf.zeros_like(z))
    logqz = log_normal_pdf(z, mean, logvar)
    return -tf.reduce_mean(logpx + logpz - logqz)


tf.keras.utils.set_random_seed(1)
model = VAE()
optimizer = tf.keras.optimizers.Adam(1e-3)


def train_step(x, noise):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, x, noise)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


rng = np.random.default_rng(1)
images = tf.constant((rng.random((512, 64)) > 0.5).astype("float32"))
noise = tf.constant(rng.normal(size=(512, 8)).astype("float32"))


def main():
    losses = []
    for start in range(0, 512, 32):
        losses.append(train_step(images[start : start + 32], noise[start : start + 32]))
    return tf.stack(losses)


if __name__ == "__main__":
    print(main())
