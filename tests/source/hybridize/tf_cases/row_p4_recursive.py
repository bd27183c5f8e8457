# P4 wants no recursion.
#
# halve: hybrid tensor recursive computes -> no (recursive)
# truth: skip
import tensorflow as tf


@tf.function
def halve(x):
    if x < 1.0:
        return x
    return halve(x / 2.0)


halve(tf.constant(5.0))
