# Windows are datasets.
# collect: ~computes -> no (no_tensor_parameter)
# total: tensor computes -> to_graph
import tensorflow as tf
def collect(window):
    return window.batch(2)
def total(x):
    return tf.reduce_sum(x)
for x in tf.data.Dataset.range(4).window(2).flat_map(collect):
    total(x)
