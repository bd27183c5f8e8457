# A generator of batches, consumed by a step.
# batches: tensor primitive ~computes -> no
# step: tensor computes -> to_graph
import tensorflow as tf
def batches(x, size):
    for start in range(0, 4, size):
        yield x[start : start + size]
def step(b):
    return tf.reduce_sum(b, axis=0)
for b in batches(tf.ones([4, 2]), 2):
    step(b)
