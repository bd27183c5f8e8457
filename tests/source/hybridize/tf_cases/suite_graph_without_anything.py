# A graph function that computes nothing and takes nothing.
# version: hybrid -> to_eager
import tensorflow as tf


@tf.function
def version():
    return "1.0"


version()
