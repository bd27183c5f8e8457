# from tensorflow import function.
#
# f: hybrid tensor computes -> add_signature
# g: hybrid tensor computes -> add_signature
import tensorflow as tf
from tensorflow import function
from tensorflow import function as graph


@function
def f(x):
    return x + 1.0


@graph()
def g(x):
    return x + 2.0


f(tf.constant([1.0]))
g(tf.constant([1.0]))
