# A model or an optimizer is made at every call.
#
# f: tensor computes -> unsafe
import tensorflow as tf

w = tf.Variable(1.0)


def f(x):
    optimizer = tf.keras.optimizers.Adam(0.1)
    with tf.GradientTape() as tape:
        loss = w * x
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss


f(tf.constant(1.0))
