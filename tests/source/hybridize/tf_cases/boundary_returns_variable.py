# A Variable would come back as a tensor.
# bump: tensor computes assumed -> to_graph
import tensorflow as tf

level = tf.Variable(1.0)


def bump(x):
    return level.assign_add(tf.reduce_sum(x))


bump(tf.ones([2])).assign(0.0)
