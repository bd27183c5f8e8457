# A hint goes first, whatever the caller passes.
# f: tensor computes -> to_graph
# g: primitive ~computes -> no (no_tensor_parameter)
import tensorflow as tf
def f(x: tf.Tensor):
    return tf.abs(x)
def g(xs: list[float]):
    return tf.constant(xs)
f([1.0, -1.0])
g([1.0])
