# A nested function that is called where it is defined.
#
# outer: tensor computes -> to_graph
# outer.inner: tensor computes -> to_graph
import tensorflow as tf


def outer(x):
    def inner(y):
        return y * 2.0

    return inner(x) + inner(x + 1.0)


outer(tf.constant(1.0))
