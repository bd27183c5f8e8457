"""Trains an image classifier with a custom loop."""

import numpy as np
import tensorflow as tf


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.flatten = tf.keras.layers.Flatten()
        self.d1 = tf.keras.layers.Dense(64, activation="relu")
        self.d2 = tf.keras.layers.Dense(64, activation="relu")
        self.d3 = tf.keras.layers.Dense(10)

    def call(self, x):
        return self.d3(self.d2(self.d1(self.flatten(x))))


tf.keras.utils.set_random_seed(0)
model = Classifier()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(1e-3)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1024, 28, 28)).astype("float32")
    y = rng.integers(0, 10, size=1024)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(32)


dataset = make_data()


def main():
    losses = []
    for images, labels in dataset:
        losses.append(train_step(images, labels))
    return tf.stack(losses)


if __name__ == "__main__":
    print(main())
