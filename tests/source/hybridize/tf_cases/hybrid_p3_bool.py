# A boolean beside a tensor is no primitive: nothing to lift.
# f: tensor hybrid computes -> add_signature|keep
import tensorflow as tf
@tf.function
def f(x, training):
    return x * 2.0 if training else x
f(tf.ones([1]), True)
f(tf.ones([1]), False)
