# Keras trains inside.
#
# f: tensor ~effects computes -> no (eager_only)
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse", optimizer="sgd")
def f(x, y):
    model.fit(x, y, verbose=0)
    return model.predict(x, verbose=0)
f(tf.ones([2, 2]), tf.ones([2, 1]))
