# The global changes between calls: a graph would keep the value of its first trace.
#
# f: tensor computes -> unsafe
# bump: effects -> no
import tensorflow as tf

scale = 1.0


def f(x):
    return x * scale


def bump():
    global scale
    scale += 1.0


f(tf.constant([1.0]))
bump()
f(tf.constant([1.0]))
