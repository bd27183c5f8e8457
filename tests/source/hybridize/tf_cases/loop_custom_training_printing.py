# The loop prints: an effect of the loop, not of the step.
#
# train_step: tensor computes -> to_graph
# train: primitive effects computes -> no
import tensorflow as tf

w = tf.Variable([[1.0], [2.0]])


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


def train(epochs):
    for epoch in range(epochs):
        loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
        print("epoch", epoch, float(loss))


train(2)
