# Signatures in other spellings.
#
# f: hybrid tensor computes -> keep
# g: hybrid tensor computes -> keep
import tensorflow as tf

SPEC = tf.TensorSpec([None], tf.float32)


@tf.function(input_signature=(SPEC,))
def f(x):
    return x + 1.0


@tf.function(jit_compile=False, input_signature=[tf.TensorSpec((), tf.int32)])
def g(x):
    return x * 2


f(tf.constant([1.0]))
g(tf.constant(1))
