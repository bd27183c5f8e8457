# A rate that comes from a schedule in Python.
# schedule: primitive -> no
# update: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
def schedule(step):
    return 0.1 / (1 + step)
def update(w, rate):
    return w - rate * w
w = tf.ones([2])
for step in range(3):
    w = update(w, schedule(step))
