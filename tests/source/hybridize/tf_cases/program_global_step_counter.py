# A global step in Python beside one in TensorFlow.
#
# python_step: tensor effects computes -> no (side_effects)
# tf_step: tensor computes -> to_graph
# learning_rate: computes -> no
import tensorflow as tf

step = 0
global_step = tf.Variable(0, dtype=tf.int64)


def python_step(x):
    global step
    step += 1
    return x * 0.9


def tf_step(x):
    global_step.assign_add(1)
    return x * 0.9


def learning_rate():
    return 0.1 / (1.0 + tf.cast(global_step, tf.float32))


x = tf.constant([1.0])
for _ in range(2):
    x = python_step(x)
    x = tf_step(x)
    learning_rate()
