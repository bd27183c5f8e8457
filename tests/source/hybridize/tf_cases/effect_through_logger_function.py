# A helper appends to a global list.
#
# log: effects primitive -> no
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf
history = []
def log(msg):
    history.append(msg)
def f(x):
    log("called")
    return x + 1
f(tf.constant(1))
