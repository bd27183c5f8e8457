# A graph function that only hands on.
# first: hybrid tensor -> to_eager (no_tensor_computation)
import tensorflow as tf


@tf.function
def first(a, b):
    return a


first(tf.constant(1), tf.constant(2))
