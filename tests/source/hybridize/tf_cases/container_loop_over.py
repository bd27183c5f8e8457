# Elements by iteration: of a list, a dictionary's values, zip, enumerate.
#
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
# h: tensor computes -> to_graph
# k: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return x + 1.0


def g(x):
    return x + 2.0


def h(a, b):
    return a + b


def k(x):
    return x * 2.0


xs = [tf.constant(1.0), tf.constant(2.0)]
ys = {"a": tf.constant(1.0)}
for x in xs:
    f(x)
for name, y in ys.items():
    g(y)
for a, b in zip(xs, xs):
    h(a, b)
for i, x in enumerate(xs):
    k(x)
