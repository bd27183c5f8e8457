# A hint and no caller.
# norm: tensor computes -> to_graph
import tensorflow as tf


def norm(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.reduce_sum(x * x))
