# Out of its graph the function draws from another stream.
# noise: hybrid computes assumed -> to_eager
import tensorflow as tf
@tf.function
def noise():
    return tf.random.normal([3])
noise()
