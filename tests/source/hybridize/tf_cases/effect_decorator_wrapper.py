# The wrapper that a decorator makes has the effect; the function itself has none.
#
# traced.wrapper: tensor effects computes -> no (side_effects)
# f: tensor computes -> to_graph
import functools

import tensorflow as tf


def traced(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print("calling", fn.__name__)
        return fn(*args, **kwargs)

    return wrapper


@traced
def f(x):
    return x + 1.0


f(tf.constant(1.0))
