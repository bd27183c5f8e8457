# Text as tensors.
# tokens: tensor computes -> to_graph
# label: primitive computes -> no (no_tensor_parameter)
import tensorflow as tf
def tokens(text):
    return tf.strings.split(text)
def label(name):
    return tf.constant(name)
tokens(tf.constant(["a b", "c"]))
label("x")
