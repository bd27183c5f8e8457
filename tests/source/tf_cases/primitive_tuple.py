# A tuple of numbers is no primitive parameter.
# pad: tensor computes -> to_graph
import tensorflow as tf
def pad(x, by):
    return tf.pad(x, [by, by])
pad(tf.ones([2, 2]), (1, 1))
