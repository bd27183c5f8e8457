# A TensorArray is filled inside.
# roll: tensor computes -> to_graph
import tensorflow as tf
def roll(x):
    out = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        out = out.write(i, x * tf.cast(i, tf.float32))
    return out.stack()
roll(tf.ones([2]))
