# An element that is taken out of a list or a dictionary.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x - 1.0


items = [tf.constant(1.0), tf.constant(2.0)]
named = {"w": tf.constant(3.0)}
f(items[-1])
f(named["w"])
f(named.get("w"))
