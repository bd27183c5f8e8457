# The variables are read before the model is called for the first time, when there are none yet.
#
# f: tensor ~effects computes -> no (stale_variables)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def f(x):
    variables = model.trainable_variables
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    return tape.gradient(loss, variables)


f(tf.ones([2, 3]))
