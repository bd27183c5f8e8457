# Python inside a graph operation: its own effects are its own.
# shout: ~tensor effects ~computes -> no?
# f: tensor ~effects computes -> ~
import tensorflow as tf
def shout(x):
    print("called")
    return x
def f(x):
    return tf.py_function(shout, [x], tf.float32) + 1.0
f(tf.ones([1]))
