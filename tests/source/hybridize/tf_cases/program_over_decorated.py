# Somebody put tf.function on everything.
#
# load: hybrid computes -> to_eager
# scale: hybrid tensor primitive computes -> to_eager|lift_primitive
# passthrough: hybrid tensor -> to_eager
# report: hybrid tensor effects ~computes -> no (side_effects)
# dot: hybrid tensor computes -> add_signature
import tensorflow as tf


@tf.function
def load():
    return tf.ones([4]) * 0.5


@tf.function
def scale(x, by):
    return x * by


@tf.function
def passthrough(x):
    return x


@tf.function
def report(x):
    print("value", x)
    return x


@tf.function
def dot(a, b):
    return tf.tensordot(a, b, axes=1)


data = load()
for factor in (1.0, 2.0):
    scaled = scale(tf.constant([1.0, 2.0]), factor)
passthrough(scaled)
report(scaled)
dot(tf.ones([3]), tf.ones([3]))
