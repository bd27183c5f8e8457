# Gradients go through a helper as a list.
# clip: tensor computes -> to_graph
# step: tensor computes -> to_graph
import tensorflow as tf
v = tf.Variable([1.0, 2.0])
u = tf.Variable([3.0])
def clip(grads):
    clipped, _ = tf.clip_by_global_norm(grads, 1.0)
    return clipped
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * x) + tf.reduce_sum(u)
    gv, gu = clip(tape.gradient(loss, [v, u]))
    v.assign_sub(gv)
    u.assign_sub(gu)
    return loss
step(tf.constant([1.0, 2.0]))
