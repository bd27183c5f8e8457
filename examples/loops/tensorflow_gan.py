"""Trains a generator and a discriminator in turns."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def make_generator():
    return tf.keras.Sequential([layers.Input((16,)), layers.Dense(64), layers.LeakyReLU(), layers.Dense(32)])


def make_discriminator():
    return tf.keras.Sequential([layers.Input((32,)), layers.Dense(64), layers.LeakyReLU(), layers.Dense(1)])


tf.keras.utils.set_random_seed(2)
generator = make_generator()
discriminator = make_discriminator()
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = tf.keras.optimizers.Adam(1e-4)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-4)


def discriminator_loss(real_output, fake_output):
    real = cross_entropy(tf.ones_like(real_output), real_output)
    fake = cross_entropy(tf.zeros_like(fake_output), fake_output)
    return real + fake


def generator_loss(fake_output):
    return cross_entropy(tf.ones_like(fake_output), fake_output)


def train_step(samples, noise):
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real_output = discriminator(samples, training=True)
        fake_output = discriminator(generated, training=True)
        gen_loss = generator_loss(fake_output)
        disc_loss = discriminator_loss(real_output, fake_output)
    gen_grads = gen_tape.gradient(gen_loss, generator.trainable_variables)
    disc_grads = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gen_grads, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(disc_grads, discriminator.trainable_variables))
    return gen_loss, disc_loss


rng = np.random.default_rng(2)
data = tf.constant(rng.normal(size=(256, 32)).astype("float32"))
noise = tf.constant(rng.normal(size=(256, 16)).astype("float32"))


def train(epochs):
    history = []
    for _ in range(epochs):
        for i in range(0, 256, 64):
            gen_loss, disc_loss = train_step(data[i : i + 64], noise[i : i + 64])
            history.append(gen_loss + disc_loss)
    return tf.stack(history)


def main():
    return train(2)


if __name__ == "__main__":
    print(main())
