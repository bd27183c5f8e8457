# functools.partial(tf.function, …) as a decorator.
#
# f: hybrid tensor computes -> ~
import functools

import tensorflow as tf

graph = functools.partial(tf.function, autograph=False)


@graph
def f(x):
    return x + 1.0


f(tf.constant([1.0]))
