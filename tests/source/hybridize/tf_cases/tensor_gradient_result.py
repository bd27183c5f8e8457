# Gradients are tensors: a list of them for a list of variables.
#
# norm: tensor computes -> to_graph
# clip: tensor computes -> to_graph
import tensorflow as tf


def norm(g):
    return tf.norm(g)


def clip(grads):
    return [tf.clip_by_value(g, -1.0, 1.0) for g in grads]


w = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(w * w)
g = tape.gradient(loss, w)
norm(g)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(w * w)
clip(tape.gradient(loss, [w]))
