# P6 with an effect: left alone.
#
# show: hybrid tensor effects -> no (side_effects)
import tensorflow as tf


@tf.function
def show(x):
    print(x)
    return x


show(tf.constant(1))
