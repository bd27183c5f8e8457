# Several reasons at once.
#
# f: tensor primitive effects recursive computes -> no (side_effects, recursive, primitive_parameter)
import tensorflow as tf


def f(x, n):
    print(n)
    if n == 0:
        return x
    return f(x + 1.0, n - 1)


f(tf.constant(1.0), 3)
