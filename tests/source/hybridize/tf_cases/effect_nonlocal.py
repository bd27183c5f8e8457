# A captured variable is written: an effect of the inner function, not of the outer one, to which it is local.
#
# make: computes -> no (no_tensor_parameter)
# make.inner: tensor effects computes -> no (side_effects)
import tensorflow as tf


def make():
    count = 0

    def inner(x):
        nonlocal count
        count += 1
        return x + 1.0

    return inner(tf.constant(1.0))


make()
