# Exceptions around tensor code.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    try:
        y = tf.ensure_shape(x, [2])
    except ValueError:
        y = x
    else:
        y = y + 1.0
    finally:
        done = True
    return y if done else x


f(tf.constant([1.0, 2.0]))
