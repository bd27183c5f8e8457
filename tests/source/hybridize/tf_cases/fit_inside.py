# Keras' own loops.
# train: tensor ~effects ~computes -> no? (eager_only)
# score: tensor ~effects ~computes -> no? (eager_only)
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
def train(x, y):
    model.fit(x, y, verbose=0)
def score(x, y):
    return model.evaluate(x, y, verbose=0)
train(tf.ones([2, 2]), tf.ones([2, 1]))
score(tf.ones([2, 2]), tf.ones([2, 1]))
