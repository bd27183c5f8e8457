# Keras' own dropout draws the same numbers in a graph.
# step: tensor computes -> to_graph
import tensorflow as tf
drop = tf.keras.layers.Dropout(0.5, seed=1)
def step(x):
    return drop(x, training=True) * 2.0
step(tf.ones([6]))
