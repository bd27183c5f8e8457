# Already optimal: hybrid, with a signature.
#
# double: hybrid tensor computes -> keep (already_optimal)
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec(shape=[None], dtype=tf.float32)])
def double(x):
    return x + x


double(tf.constant([1.0, 2.0]))
