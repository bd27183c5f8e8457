# Tensors given by keyword, in another order.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(a, b, *, c):
    return a * b + c


f(c=tf.constant(1.0), b=tf.constant(2.0), a=tf.constant(3.0))
