# A distribution strategy runs the step.
#
# train_step: tensor computes -> to_graph
# distributed: tensor computes -> ~
import tensorflow as tf

strategy = tf.distribute.get_strategy()


def train_step(x, y):
    return tf.reduce_sum(x * y)


def distributed(x, y):
    return strategy.run(train_step, args=(x, y))


distributed(tf.ones([2]), tf.ones([2]))
