# A list of Python numbers is no tensor.
# convert: primitive ~computes -> no (no_tensor_parameter)
# use: tensor computes -> to_graph
import tensorflow as tf
def convert(values):
    return tf.convert_to_tensor(values)
def use(x):
    return x + 1
use(convert([1, 2, 3]))
