# A list that is given is filled, then returned: an effect.
#
# f: tensor effects computes -> no
import tensorflow as tf


def f(xs):
    xs.append(xs[0] * 2.0)
    return xs


f([tf.constant(1.0)])
