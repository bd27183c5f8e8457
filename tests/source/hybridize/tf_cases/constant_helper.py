# A helper without parameters.
#
# helper: -> no (no_tensor_parameter)
# f: tensor computes -> to_graph
import tensorflow as tf
def helper():
    return 3
def f(x):
    return x * helper()
f(tf.constant([2]))
