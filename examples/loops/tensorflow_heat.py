"""Heat on a plate: explicit steps of the heat equation with a source."""

import numpy as np
import tensorflow as tf

SIZE = 96


def laplacian(u):
    up = tf.roll(u, 1, axis=0)
    down = tf.roll(u, -1, axis=0)
    left = tf.roll(u, 1, axis=1)
    right = tf.roll(u, -1, axis=1)
    return up + down + left + right - 4.0 * u


def step(u, source, conductivity):
    flux = conductivity * laplacian(u)
    cooling = 0.01 * tf.pow(tf.maximum(u, 0.0), 1.25)
    return tf.clip_by_value(u + 0.1 * (flux + source - cooling), 0.0, 100.0)


rng = np.random.default_rng(3)
plate = tf.constant(rng.random((SIZE, SIZE)).astype("float32"))
source = tf.constant((rng.random((SIZE, SIZE)) > 0.99).astype("float32"))
conductivity = tf.constant(0.5 + 0.5 * rng.random((SIZE, SIZE)).astype("float32"))


def main():
    u = plate
    for _ in range(100):
        u = step(u, source, conductivity)
    return u


if __name__ == "__main__":
    print(tf.reduce_mean(main()))
