# A helper writes into a list that its caller made: an effect of the helper only.
#
# fill: tensor effects ~computes -> no (side_effects)
# f: tensor computes -> to_graph
import tensorflow as tf


def fill(out, x):
    out.append(x)
    out.append(x * 2.0)


def f(x):
    out = []
    fill(out, x)
    return tf.add_n(out)


f(tf.constant([1.0]))
