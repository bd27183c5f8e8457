# A flag is no number: two traces at most.
# activate: tensor computes -> to_graph
import tensorflow as tf


def activate(x, leaky):
    return tf.nn.leaky_relu(x) if leaky else tf.nn.relu(x)


activate(tf.constant([-1.0, 1.0]), True)
activate(tf.constant([-1.0, 1.0]), False)
