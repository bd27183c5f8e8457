# A hybrid step that nobody calls: a tensor by its name, and nothing that a signature could be inferred from.
#
# train_step: hybrid tensor assumed ~primitive computes -> no
import tensorflow as tf


@tf.function
def train_step(x):
    return tf.reduce_sum(x) * 2.0
