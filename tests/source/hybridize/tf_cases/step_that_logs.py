# The same, and it prints.
# step: tensor effects computes -> no (side_effects)
import tensorflow as tf

w = tf.Variable([1.0, 2.0])


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    print("loss", float(loss))
    return loss


step(tf.ones([2]))
