# Lambdas given to TensorFlow's own loops.
# rows: tensor computes -> to_graph
# scan: tensor computes -> to_graph
# log_rows: tensor effects computes -> no (side_effects)
import tensorflow as tf
seen = []
def rows(x):
    return tf.map_fn(lambda r: tf.reduce_sum(r), x)
def scan(x):
    return tf.scan(lambda a, b: a + b, x)
def log_rows(x):
    return tf.map_fn(lambda r: (seen.append(1), tf.reduce_sum(r))[1], x)
rows(tf.ones([2, 2]))
scan(tf.ones([3]))
log_rows(tf.ones([2, 2]))
