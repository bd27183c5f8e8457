# Keras' `fit` starts a graph of its own and works only eagerly.
#
# train: tensor ~effects ~computes -> no (eager_only)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")


def train(x, y):
    model.fit(x, y, epochs=1, verbose=0)


train(tf.ones([4, 2]), tf.ones([4, 1]))
