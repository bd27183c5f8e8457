# P6: nothing at all happens.
#
# nothing: hybrid tensor -> to_eager
import tensorflow as tf


@tf.function
def nothing(x):
    pass


nothing(tf.constant(1))
