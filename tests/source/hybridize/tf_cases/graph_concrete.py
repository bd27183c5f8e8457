# get_concrete_function with a spec: hybrid, and a tensor flows in by the spec at most.
#
# f: hybrid ~tensor ~primitive ~computes -> ~
import tensorflow as tf


@tf.function
def f(x):
    return x + 1.0


concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
concrete(tf.constant([1.0]))
