# Nobody calls it, but it says what it takes.
# gate: tensor computes -> to_graph
import tensorflow as tf


def gate(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return tf.where(mask, x, tf.zeros_like(x))
