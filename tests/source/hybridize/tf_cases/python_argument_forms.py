# Calls in unusual forms.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
# h: tensor primitive computes -> no
# k: tensor computes -> to_graph
import tensorflow as tf


def f(a, *rest, scale=None, **more):
    y = a
    for r in rest:
        y = y + r
    return y if scale is None else y * scale


def g(*, x):
    return x + 1.0


def h(x, n):
    return x * n


def k(x, flag=None):
    return x + 1.0


t = tf.constant(1.0)
f(t, t, t, scale=t, extra=t)
g(**dict(x=t))
h(*(t, 2))
k(*[t], **{"flag": True})
