# The random operation is two calls away.
# mask: primitive computes -> no
# regularise: tensor computes assumed -> to_graph
# forward: tensor computes assumed -> to_graph
import tensorflow as tf
def mask(n):
    return tf.cast(tf.random.uniform([n]) > 0.5, tf.float32)
def regularise(x):
    return x * mask(4)
def forward(x):
    return tf.nn.relu(regularise(x))
forward(tf.ones([4]))
