# Casting helpers over nested structures.
#
# cast_tensor: tensor ~primitive computes -> ~
# cast_all: tensor ~primitive computes -> ~
# global_norm: tensor computes -> to_graph
# scale_loss: tensor computes -> to_graph
# all_finite: tensor computes -> to_graph
import tensorflow as tf


def cast_tensor(x, dtype):
    return tf.cast(x, dtype) if x.dtype.is_floating else x


def cast_all(structure, dtype):
    return tf.nest.map_structure(lambda t: cast_tensor(t, dtype), structure)


def global_norm(grads):
    return tf.sqrt(sum(tf.reduce_sum(tf.square(g)) for g in grads))


def scale_loss(loss, scale):
    return loss * tf.cast(scale, loss.dtype)


def all_finite(grads):
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in grads])


batch = {"x": tf.ones([2]), "ids": tf.constant([1, 2])}
half = cast_all(batch, tf.float16)
grads = [tf.ones([2]), tf.ones([3])]
global_norm(grads)
scale_loss(tf.constant(1.0), tf.constant(128.0))
all_finite(grads)
