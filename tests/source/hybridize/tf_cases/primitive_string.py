# A string is a primitive.
#
# activate: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def activate(x, kind):
    if kind == "relu":
        return tf.nn.relu(x)
    return tf.tanh(x)


activate(tf.constant([-1.0]), "relu")
activate(tf.constant([-1.0]), "tanh")
