# An inner function counts.
#
# make.inner: tensor effects computes -> no (side_effects)
# make: -> no
import tensorflow as tf
def make():
    n = 0
    def inner(x):
        nonlocal n
        n += 1
        return x * n
    return inner
g = make()
g(tf.constant(1))
