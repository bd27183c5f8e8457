# An inner function with a captured number.
#
# make.inner: tensor computes -> to_graph
# make: primitive -> no
import tensorflow as tf
def make(k):
    def inner(x):
        return x * k
    return inner
g = make(2.0)
g(tf.ones([2]))
