# A GAN: builders, losses and a step that returns both.
#
# make_generator: ~computes -> no
# make_discriminator: ~computes -> no
# discriminator_loss: tensor computes -> to_graph
# generator_loss: tensor computes -> to_graph
# train_step: tensor computes -> to_graph
# train: ~tensor primitive effects computes -> no
import time

import tensorflow as tf
from tensorflow.keras import layers

NOISE_DIM = 4
BATCH = 2


def make_generator():
    model = tf.keras.Sequential()
    model.add(layers.Input((NOISE_DIM,)))
    model.add(layers.Dense(8, use_bias=False))
    model.add(layers.LeakyReLU())
    model.add(layers.Dense(3))
    return model


def make_discriminator():
    model = tf.keras.Sequential()
    model.add(layers.Input((3,)))
    model.add(layers.Dense(8))
    model.add(layers.LeakyReLU())
    model.add(layers.Dense(1))
    return model


cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator = make_generator()
discriminator = make_discriminator()
gen_opt = tf.keras.optimizers.SGD(1e-4)
disc_opt = tf.keras.optimizers.SGD(1e-4)
gen_opt.build(generator.trainable_variables)
disc_opt.build(discriminator.trainable_variables)


def discriminator_loss(real_output, fake_output):
    real_loss = cross_entropy(tf.ones_like(real_output), real_output)
    fake_loss = cross_entropy(tf.zeros_like(fake_output), fake_output)
    return real_loss + fake_loss


def generator_loss(fake_output):
    return cross_entropy(tf.ones_like(fake_output), fake_output)


def train_step(images):
    noise = tf.random.normal([BATCH, NOISE_DIM])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(generated, training=True)
        g_loss = generator_loss(fake_output)
        d_loss = discriminator_loss(real_output, fake_output)
    gen_opt.apply_gradients(zip(gen_tape.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    disc_opt.apply_gradients(
        zip(disc_tape.gradient(d_loss, discriminator.trainable_variables), discriminator.trainable_variables)
    )
    return g_loss, d_loss


def train(dataset, epochs):
    for epoch in range(epochs):
        start = time.time()
        for image_batch in dataset:
            train_step(image_batch)
        print("epoch", epoch, "took a while" if time.time() - start > 1e6 else "")


train(tf.data.Dataset.from_tensor_slices(tf.ones([4, 3])).batch(BATCH), 2)
