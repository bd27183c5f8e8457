# What the step returns is a number of Python.
# loss_of: tensor computes -> unsafe
import tensorflow as tf

w = tf.Variable(2.0)


def loss_of(x, y):
    error = tf.reduce_mean(tf.square(w * x - y))
    w.assign_sub(0.01 * error)
    return float(error)


for step in range(3):
    print(round(loss_of(tf.ones([3]) * float(step), tf.ones([3])), 4))
