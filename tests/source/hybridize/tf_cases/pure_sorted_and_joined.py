# Functions that give new objects.
#
# f: tensor computes -> to_graph
import tensorflow as tf

SIZES = [3, 1, 2]


def f(x):
    ordered = sorted(SIZES)
    ordered.append(4)
    text = ",".join(str(s) for s in ordered)
    return tf.reshape(x, [len(text), 1])


f(tf.ones([7]))
