# A decorator of our own without effects.
#
# doubled.wrapper: tensor computes -> to_graph
# f: tensor computes -> to_graph
import tensorflow as tf


def doubled(fn):
    def wrapper(x):
        return fn(x) * 2.0

    return wrapper


@doubled
def f(x):
    return x + 1.0


f(tf.constant(1.0))
