# A hybrid function in one module, its helper in another.
#
# step: hybrid tensor computes -> add_signature
import tensorflow as tf
import ops.basic as basic


@tf.function
def step(x):
    return basic.helper(x) * 2.0


step(tf.ones([2]))
