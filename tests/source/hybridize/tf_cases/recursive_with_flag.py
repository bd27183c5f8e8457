# Calls itself with a smaller number.
#
# fact: tensor primitive recursive computes -> no (recursive)
import tensorflow as tf
def fact(x, n):
    if n == 0:
        return x
    return fact(x * 2.0, n - 1)
fact(tf.constant(1.0), True)
