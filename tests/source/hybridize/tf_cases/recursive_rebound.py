# The name is rebound by a decorator, and the function calls that name.
#
# f: tensor hybrid recursive computes -> no
# truth: skip
import tensorflow as tf


@tf.function
def f(x):
    if x > 8.0:
        return x
    return f(x * 2.0)


f(tf.constant(1.0))
