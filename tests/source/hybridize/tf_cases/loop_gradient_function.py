# A tape in a function that returns gradients; watch on a constant.
#
# grad: tensor computes -> to_graph
import tensorflow as tf


def grad(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * x
    return tape.gradient(y, x), tape.gradient(z, x)


grad(tf.constant(3.0))
