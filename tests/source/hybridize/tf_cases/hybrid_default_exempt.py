# A default that nobody overrides.
# f: tensor hybrid computes -> add_signature|keep
import tensorflow as tf
@tf.function
def f(x, rate=0.1):
    return x * rate
f(tf.ones([1]))
