# An attribute of another module is written.
# configure: effects -> no
# f: tensor computes -> to_graph
import math as settings
import tensorflow as tf
def configure():
    settings.mode = "fast"
def f(x):
    return x * settings.pi
configure()
f(tf.ones([1]))
