# Nobody calls these; their effects can be seen all the same.
#
# f: tensor? ~primitive effects ~computes -> no?
# g: tensor? ~primitive effects ~computes -> no?
import tensorflow as tf

log = []


def f(x):
    print(x)
    return tf.square(x)


def g(x):
    log.append(1)
    return tf.square(x)
