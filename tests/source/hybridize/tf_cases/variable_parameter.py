# Variables and gradients as parameters.
# decay: tensor computes -> to_graph
# apply_all: tensor computes -> to_graph
import tensorflow as tf
def decay(v, g):
    v.assign(v - 0.1 * g)
    return v + 0.0
def apply_all(pairs):
    for v, g in pairs:
        decay(v, g)
a, b = tf.Variable(1.0), tf.Variable(2.0)
apply_all([(a, tf.constant(1.0)), (b, tf.constant(1.0))])
