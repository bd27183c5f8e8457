# A list of variables, captured.
# l2: tensor computes -> to_graph
# penalty: computes -> no (no_tensor_parameter)
import tensorflow as tf
weights = [tf.Variable([1.0]), tf.Variable([2.0])]
def penalty():
    return tf.add_n([tf.reduce_sum(w * w) for w in weights])
def l2(loss):
    return loss + 0.1 * penalty()
l2(tf.constant(1.0))
