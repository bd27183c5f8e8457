# A gradient function inside a function.
# clip: tensor ~computes -> ~
# clip.grad: ~tensor ~primitive computes -> ~
# use: tensor computes -> to_graph
import tensorflow as tf
@tf.custom_gradient
def clip(x):
    def grad(dy):
        return tf.clip_by_value(dy, -1.0, 1.0)
    return tf.identity(x), grad
def use(x):
    return clip(x) * 2.0
use(tf.ones([2]))
