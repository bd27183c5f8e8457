# A global flag is set by one function and read by another.
# enable: effects -> no
# forward: tensor computes assumed -> to_graph
import tensorflow as tf
DEBUG = False
def enable():
    global DEBUG
    DEBUG = True
def forward(x):
    return x * 2.0 if DEBUG else x + 1.0
forward(tf.ones([1]))
enable()
