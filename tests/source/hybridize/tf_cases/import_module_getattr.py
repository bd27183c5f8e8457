# A function of the library is chosen by a condition.
# f: tensor computes -> to_graph
import tensorflow as tf
activation = tf.nn.relu if hasattr(tf, "nn") else tf.identity
def f(x):
    return activation(x) + 1.0
f(tf.ones([1]))
