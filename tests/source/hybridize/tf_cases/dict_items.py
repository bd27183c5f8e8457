# Named losses in a dictionary, weighted by another.
# combine: tensor computes -> to_graph
import tensorflow as tf
def combine(losses, weights):
    return tf.add_n([weights[name] * value for name, value in losses.items()])
combine({"a": tf.constant(1.0), "b": tf.constant(2.0)}, {"a": tf.constant(0.5), "b": tf.constant(0.25)})
