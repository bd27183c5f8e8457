# One draw per rate: the shape is longer than the one that is asked for.
# mix: hybrid tensor computes -> ~
import tensorflow as tf


@tf.function
def mix(x):
    return tf.nn.softmax(x)


mix(tf.random.gamma([5], tf.constant([1.0, 2.0])))
