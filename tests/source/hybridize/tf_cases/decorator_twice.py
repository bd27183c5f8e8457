# A decorator calls the function twice.
#
# twice.wrapper: tensor computes ~effects -> ~
# twice: ~tensor -> no?
# f: tensor computes -> to_graph
import functools
import tensorflow as tf
def twice(fn):
    @functools.wraps(fn)
    def wrapper(x):
        return fn(fn(x))
    return wrapper
@twice
def f(x):
    return x * 3.0
f(tf.ones([2]))
