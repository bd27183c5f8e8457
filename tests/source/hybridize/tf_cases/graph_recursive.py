# A graph function that calls itself.
# countdown: hybrid tensor recursive computes -> keep (recursive)
import tensorflow as tf


@tf.function
def countdown(x):
    if x.shape[0] <= 1:
        return x
    return countdown(x[1:]) + 1.0


countdown(tf.ones([3]))
