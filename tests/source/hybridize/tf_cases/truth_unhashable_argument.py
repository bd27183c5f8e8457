# Beside the tensor stands an argument that tf.function cannot take: it must be hashable or a structure of tensors.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x, names):
    return x * float(len(names))


f(tf.constant(1.0), {"a", "b"})
