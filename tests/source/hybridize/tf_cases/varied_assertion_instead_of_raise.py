# The same check as an operation of TensorFlow holds in graphs, too.
# normalised: tensor computes -> to_graph
import tensorflow as tf


def normalised(x):
    tf.debugging.assert_all_finite(x, "not finite")
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    return (x - mean) / (tf.math.reduce_std(x, axis=-1, keepdims=True) + 1e-3)


for step in range(3):
    print(normalised(tf.reshape(tf.range(6.0), [2, 3]) * float(step + 1)).numpy().round(3))
