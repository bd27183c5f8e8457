# A generator function is no graph.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    for i in range(3):
        yield x * float(i)


list(f(tf.constant(1.0)))
