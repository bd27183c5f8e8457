# Functions made in a loop.
# scaler: primitive -> no
# scaler.apply: tensor computes -> to_graph
# pipeline: tensor computes -> to_graph
import tensorflow as tf
def scaler(k):
    def apply(x):
        return x * k
    return apply
steps = [scaler(float(i)) for i in range(1, 4)]
def pipeline(x):
    for step in steps:
        x = step(x)
    return x
pipeline(tf.ones([2]))
