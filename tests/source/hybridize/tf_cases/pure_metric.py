# Metrics keep their state in variables.
#
# observe: tensor computes -> to_graph
import tensorflow as tf

mean = tf.keras.metrics.Mean()


def observe(x):
    mean.update_state(x)
    return mean.result() * 1.0


observe(tf.constant([1.0, 3.0]))
