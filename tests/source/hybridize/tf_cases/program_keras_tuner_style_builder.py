# Builders in the style of tuners: closures over hyperparameters, layers made in loops.
#
# make_builder: ~primitive -> no
# make_builder.build: ~tensor ~primitive ~effects ~computes -> no?
# score: tensor ~effects computes -> ~
import tensorflow as tf


def make_builder(depth, width):
    def build():
        model = tf.keras.Sequential()
        for i in range(depth):
            model.add(tf.keras.layers.Dense(width, activation="relu", name=f"dense_{i}"))
        model.add(tf.keras.layers.Dense(1))
        return model

    return build


model = make_builder(2, 3)()


def score(x, y):
    return -tf.reduce_mean(tf.abs(model(x) - y))


score(tf.ones([2, 2]), tf.ones([2, 1]))
