# A lambda that calls the function that made it.
# power: tensor primitive recursive computes -> no (recursive, primitive_parameter)
import tensorflow as tf
def power(x, n):
    step = lambda m: power(x, m)
    return x if n == 0 else x * step(n - 1)
power(tf.constant(2.0), 3)
