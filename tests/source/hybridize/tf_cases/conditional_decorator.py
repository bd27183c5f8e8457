# Hybrid or not, by a flag.
#
# maybe: -> ~
# f: ~hybrid tensor computes -> ~
# g: tensor computes -> to_graph
import tensorflow as tf

GRAPH = True


def maybe(fn):
    return tf.function(fn) if GRAPH else fn


@maybe
def f(x):
    return x + 1.0


def g(x):
    return x + 2.0


f(tf.constant(1.0))
g(tf.constant(1.0))
