# P4 with two parameters whose shapes and dtypes are known.
#
# affine: hybrid tensor computes -> add_signature
import tensorflow as tf


@tf.function
def affine(x, w):
    return tf.matmul(x, w)


affine(tf.ones((2, 3)), tf.zeros((3, 4)))
