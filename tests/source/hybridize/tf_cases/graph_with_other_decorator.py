# tf.function under a decorator of our own.
#
# logged: -> no
# f: hybrid tensor computes -> add_signature|keep
import functools

import tensorflow as tf


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)

    return wrapper


@logged
@tf.function
def f(x):
    return x * 2.0


f(tf.constant([1.0]))
