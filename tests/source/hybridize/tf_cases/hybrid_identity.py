# A graph function that computes nothing.
#
# f: hybrid tensor -> to_eager
import tensorflow as tf
@tf.function
def f(x):
    return x
f(tf.constant(2.0))
