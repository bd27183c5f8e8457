# `evaluate`.
#
# score: tensor ~effects ~computes -> no (eager_only)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")


def score(x, y):
    return model.evaluate(x, y, verbose=0)


score(tf.ones([4, 2]), tf.ones([4, 1]))
