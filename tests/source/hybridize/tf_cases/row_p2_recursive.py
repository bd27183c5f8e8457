# P2 does not ask for the absence of recursion.
#
# countdown: hybrid primitive recursive -> to_eager
import tensorflow as tf


@tf.function
def countdown(n):
    if n == 0:
        return 0
    return countdown(n - 1)


countdown(3)
