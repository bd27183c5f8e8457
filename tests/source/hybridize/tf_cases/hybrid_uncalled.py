# A graph function that nobody calls.
# f: tensor? ~primitive hybrid ~computes -> unknown
# g: hybrid effects -> keep
import tensorflow as tf
@tf.function
def f(x):
    return tf.abs(x)
@tf.function
def g():
    print("traced")
