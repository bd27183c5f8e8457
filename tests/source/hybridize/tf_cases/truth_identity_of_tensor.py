# Python's identity, hash and order of tensors.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    y = x + 1.0
    return {y.ref(): 1}[y.ref()] if isinstance(y, type(x)) and hasattr(y, "numpy") else 0


f(tf.constant(1.0))
