# None, booleans and tensors: no primitives.
# f: tensor computes -> to_graph
import tensorflow as tf
def f(x, mask=None, training=False):
    if mask is not None:
        x = x * mask
    return tf.nn.relu(x) if training else x + 0.0
f(tf.ones([2]))
f(tf.ones([2]), tf.ones([2]), True)
