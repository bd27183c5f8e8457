# A loop over a list of numbers passes each.
#
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
def f(x, n):
    for _ in range(n):
        x = x * 2.0
    return x
for k in [1, 2, 3]:
    f(tf.ones([2]), k)
