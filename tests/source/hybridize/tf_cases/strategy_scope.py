# Variables under a strategy.
# make: computes -> no (no_tensor_parameter)
# step: tensor computes -> to_graph
import tensorflow as tf
strategy = tf.distribute.get_strategy()
def make():
    with strategy.scope():
        return tf.Variable(1.0)
v = make()
def step(x):
    v.assign_add(tf.reduce_sum(x))
    return v + 0.0
step(tf.ones([2]))
