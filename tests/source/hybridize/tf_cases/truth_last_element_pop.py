# pop and del on an argument.
#
# f: tensor effects computes -> no
# g: tensor effects computes -> no
# truth: skip
import tensorflow as tf


def f(xs):
    return xs.pop() + xs.pop(0) if len(xs) > 1 else xs[0] + 0.0


def g(named):
    if "b" in named:
        del named["b"]
    return named["a"] * 2.0


f([tf.constant(1.0), tf.constant(2.0)])
g({"a": tf.constant(1.0), "b": tf.constant(2.0)})
