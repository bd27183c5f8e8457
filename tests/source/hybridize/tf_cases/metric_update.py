# A Keras metric takes in a tensor.
#
# acc: tensor computes -> to_graph
import tensorflow as tf
m = tf.keras.metrics.Mean()
def acc(x):
    m.update_state(x)
    return m.result()
acc(tf.ones([4]))
