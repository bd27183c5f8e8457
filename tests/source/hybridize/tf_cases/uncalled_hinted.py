# Nobody calls it, the hint says it all.
# loss: tensor computes -> to_graph
# scaled: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
def loss(y: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(y - p))
def scaled(x: tf.Tensor, by: float) -> tf.Tensor:
    return x * by
