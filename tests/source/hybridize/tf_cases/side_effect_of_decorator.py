# A decorator of the program counts calls around the function.
# counted: effects -> no?
# counted.inner: tensor effects computes -> no (side_effects)
# f: tensor computes -> to_graph
import functools

import tensorflow as tf

counts = {}


def counted(function):
    counts[function.__name__] = 0

    @functools.wraps(function)
    def inner(x):
        counts[function.__name__] += 1
        return function(x)

    return inner


@counted
def f(x):
    return x * 3.0


f(tf.ones([2]))
