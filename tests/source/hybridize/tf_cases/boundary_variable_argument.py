# A Variable that is passed stays one.
# update: tensor computes -> to_graph
import tensorflow as tf


def update(weight, gradient):
    weight.assign_sub(0.5 * gradient)
    return tf.reduce_sum(weight)


weight = tf.Variable([1.0, 1.0])
update(weight, tf.ones([2]))
