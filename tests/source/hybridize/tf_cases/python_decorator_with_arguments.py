# A decorator with arguments.
#
# times.decorate.wrapper: tensor computes -> to_graph
# f: tensor computes -> to_graph
import functools

import tensorflow as tf


def times(n):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs) * n

        return wrapper

    return decorate


@times(3.0)
def f(x):
    return x + 1.0


f(tf.constant(1.0))
