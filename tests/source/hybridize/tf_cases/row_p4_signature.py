# P4: everything that reaches the parameter is a vector of float32.
#
# double: hybrid tensor computes -> add_signature
import tensorflow as tf


@tf.function
def double(x):
    return x + x


double(tf.constant([1.0, 2.0]))
double(tf.constant([1.0, 2.0, 3.0]))
