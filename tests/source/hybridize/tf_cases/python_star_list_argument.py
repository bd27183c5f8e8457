# A list of tensors is spread into positional parameters.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(a, b, c):
    return a + b * c


f(*[tf.constant(float(i)) for i in range(3)])
