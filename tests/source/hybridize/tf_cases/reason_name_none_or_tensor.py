# One call passes no name, another one a tensor as a name.
# f: tensor computes -> no (name_argument)
import tensorflow as tf
def f(x, name):
    return tf.add(x, 1.0, name=name)
f(tf.constant(1.0), None)
f(tf.constant(1.0), tf.constant("a"))
