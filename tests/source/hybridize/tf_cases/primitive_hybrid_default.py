# P3 does not hold: the default is exempt; P4 cannot give a spec for it either way.
#
# f: hybrid tensor computes -> add_signature|keep
import tensorflow as tf


@tf.function
def f(x, n=2):
    return x * n


f(tf.constant([1, 2]))
