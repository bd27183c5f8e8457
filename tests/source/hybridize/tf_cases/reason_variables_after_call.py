# The variables are read after the call.
#
# f: tensor computes -> to_graph
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])


def f(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    return tape.gradient(loss, model.trainable_variables)


f(tf.ones([2, 3]))
