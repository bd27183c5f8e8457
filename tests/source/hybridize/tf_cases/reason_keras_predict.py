# `predict`.
#
# infer: tensor ~effects computes -> no (eager_only)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def infer(x):
    return tf.reduce_sum(model.predict(x, verbose=0))


infer(tf.ones([4, 2]))
