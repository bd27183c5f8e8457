# A grid search over Python numbers.
#
# build: primitive ~effects -> no
# objective: ~tensor ~primitive ~effects computes -> no?
# mse: tensor computes -> to_graph
# search: ~effects ~primitive ~computes -> ~
import itertools

import tensorflow as tf


def build(units, rate):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.SGD(rate), loss="mse")
    return model


def mse(y, p):
    return tf.reduce_mean((y - p) ** 2)


def objective(units, rate):
    model = build(units, rate)
    x, y = tf.ones([4, 2]), tf.ones([4, 1])
    model.fit(x, y, verbose=0)
    return float(mse(y, model(x)))


def search(space):
    best = None
    for units, rate in itertools.product(*space):
        score = objective(units, rate)
        if best is None or score < best[0]:
            best = (score, units, rate)
    return best


search(([2, 3], [0.1]))
