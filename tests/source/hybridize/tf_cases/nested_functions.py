# A function in a function in a function.
# outer: tensor ~computes -> ~
# outer.middle: tensor ~computes -> ~
# outer.middle.inner: tensor computes -> ~
import tensorflow as tf
def outer(x):
    def middle(y):
        def inner(z):
            return z * 2.0
        return inner(y)
    return middle(x)
outer(tf.ones([1]))
