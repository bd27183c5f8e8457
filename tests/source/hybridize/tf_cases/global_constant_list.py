# Reading a list of constants is no side effect.
# blend: tensor computes -> to_graph
import tensorflow as tf
WEIGHTS = [0.2, 0.3, 0.5]
def blend(a, b, c):
    return WEIGHTS[0] * a + WEIGHTS[1] * b + WEIGHTS[2] * c
blend(tf.ones([1]), tf.ones([1]), tf.ones([1]))
