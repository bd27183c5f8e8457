# A graph function repeats something so many times.
# repeat: hybrid tensor primitive computes -> to_eager (primitive_parameter)
import tensorflow as tf


@tf.function
def repeat(x, times):
    for _ in range(times):
        x = tf.sin(x)
    return x


repeat(tf.constant(0.5), 2)
repeat(tf.constant(0.5), 3)
