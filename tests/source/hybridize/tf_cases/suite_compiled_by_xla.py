# XLA is a graph function, too.
# dense: hybrid tensor computes -> add_signature|keep
import tensorflow as tf


@tf.function(jit_compile=True)
def dense(x, w):
    return tf.nn.relu(tf.matmul(x, w))


dense(tf.ones([2, 3]), tf.ones([3, 4]))
