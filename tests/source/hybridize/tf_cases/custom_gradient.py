# tf.custom_gradient around a function with a nested gradient.
#
# clip: tensor computes -> ~
# clip.grad: ~tensor ~primitive ~computes -> ~
# use: tensor computes -> to_graph
import tensorflow as tf


@tf.custom_gradient
def clip(x):
    def grad(upstream):
        return tf.clip_by_value(upstream, -1.0, 1.0)

    return tf.identity(x), grad


def use(x):
    return clip(x) * 2.0


use(tf.constant(3.0))
