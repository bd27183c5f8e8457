# A nested function that calls itself; its outer function is not recursive.
#
# outer: tensor computes -> ~
# outer.go: tensor ~primitive recursive computes -> no (recursive)
import tensorflow as tf


def outer(x):
    def go(x, n):
        return x if n == 0 else go(x * 2.0, n - 1)

    return go(x, 3)


outer(tf.constant(1.0))
