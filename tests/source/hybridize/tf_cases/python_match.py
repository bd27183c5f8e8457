# A match statement over a flag.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x, flag):
    match flag:
        case True:
            return x + 1.0
        case _:
            return x - 1.0


f(tf.constant([1.0]), True)
f(tf.constant([1.0]), False)
