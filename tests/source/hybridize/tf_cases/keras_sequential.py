# A Sequential model that is called in a function.
#
# predict: tensor computes -> to_graph
import tensorflow as tf

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones"),
        tf.keras.layers.Dense(1, kernel_initializer="ones"),
    ]
)


def predict(x):
    return model(x)


predict(tf.ones([2, 3]))
