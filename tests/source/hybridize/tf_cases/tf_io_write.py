# Files through TensorFlow: an operation in a graph as well.
# store: tensor ~effects computes -> ~
import tensorflow as tf
def store(x):
    tf.io.write_file("x.txt", tf.strings.as_string(tf.reduce_sum(x)))
    return x + 0.0
store(tf.ones([2]))
