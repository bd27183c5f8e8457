# P6: packing and unpacking Python containers is no tensor computation.
#
# swap: hybrid tensor -> to_eager
import tensorflow as tf


@tf.function
def swap(a, b):
    return {"first": b, "second": a}


swap(tf.constant(1.0), tf.constant(2.0))
