# The list that is passed in grows.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf
def f(x, out):
    out.append(x * 2)
    return x
res = []
f(tf.constant(1), res)
