# Nobody calls it; its name says what it is given.
#
# train_step: tensor assumed ~primitive computes -> to_graph
import tensorflow as tf

w = tf.Variable(1.0)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x - y))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
