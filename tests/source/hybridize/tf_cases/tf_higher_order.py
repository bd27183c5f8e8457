# Functions that are given to TensorFlow's own control flow get tensors.
#
# square: tensor computes -> ~
# body: tensor computes -> ~
# cond: tensor computes -> ~
# yes: computes -> no
# no: computes -> no
# accumulate: tensor computes -> ~
# use: tensor computes -> to_graph
import tensorflow as tf

base = tf.constant([1.0, 2.0])


def square(x):
    return x * x


def cond(i, acc):
    return i < 3


def body(i, acc):
    return i + 1, acc * 2.0


def yes():
    return base + 1.0


def no():
    return base - 1.0


def accumulate(a, b):
    return a + b


def use(x):
    return tf.reduce_sum(x)


use(tf.map_fn(square, base))
i, acc = tf.while_loop(cond, body, (tf.constant(0), tf.constant(1.0)))
use(acc)
use(tf.cond(base[0] > 0.0, yes, no))
use(tf.scan(accumulate, base))
