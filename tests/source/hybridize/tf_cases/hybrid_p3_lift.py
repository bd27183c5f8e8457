# A number that only scales a tensor.
# f: tensor primitive hybrid computes -> to_eager|lift_primitive (primitive_parameter)
import tensorflow as tf
@tf.function
def f(x, rate):
    return x * rate
for rate in (0.1, 0.2, 0.3):
    f(tf.ones([1]), rate)
