# A program of TensorFlow 1.
# network: ~tensor ~primitive ~effects ~computes -> no
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def network(x):
    return tf.nn.relu(tf.matmul(x, tf.get_variable("w", [2, 2])))


with tf.Session() as session:
    y = network(tf.placeholder(tf.float32, [None, 2]))
    session.run(tf.global_variables_initializer())
