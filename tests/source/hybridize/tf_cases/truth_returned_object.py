# What comes back is an object of Python's: equal at the first call, shared or refused afterwards.
#
# f: tensor computes -> unsafe
import tensorflow as tf


class Result:
    def __init__(self, value):
        self.value = value


def f(x):
    return Result(x * 2.0)


f(tf.constant(1.0)).value
