# P2: a hybrid function without parameters, and without effects, gains nothing.
#
# constant_table: hybrid computes -> to_eager
import tensorflow as tf


@tf.function
def constant_table():
    return tf.range(10) * 2


constant_table()
