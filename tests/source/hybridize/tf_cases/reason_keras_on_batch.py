# `train_on_batch` and `predict_on_batch`.
#
# train: tensor ~effects ~computes -> no (eager_only)
# infer: tensor ~effects ~computes -> no (eager_only)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")


def train(x, y):
    return model.train_on_batch(x, y)


def infer(x):
    return model.predict_on_batch(x)


train(tf.ones([4, 2]), tf.ones([4, 1]))
infer(tf.ones([4, 2]))
