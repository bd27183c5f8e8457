# reduce_retracing does not help with Python numbers.
# power: hybrid tensor primitive computes -> to_eager|lift_primitive (primitive_parameter)
import tensorflow as tf


@tf.function(reduce_retracing=True)
def power(x, exponent):
    return x**exponent


for exponent in (2, 3, 4):
    power(tf.ones([2]), exponent)
