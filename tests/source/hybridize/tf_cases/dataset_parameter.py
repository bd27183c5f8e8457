# A dataset is no tensor; its elements are.
# first: ~computes -> no (no_tensor_parameter)
# use: tensor computes -> to_graph
import tensorflow as tf
def use(x):
    return tf.reduce_sum(x)
def first(ds):
    for x in ds:
        return use(x)
first(tf.data.Dataset.range(4))
