# Checks on shapes, in Python.
# check: tensor -> no
# f: tensor computes -> to_graph
import tensorflow as tf
def check(x):
    assert len(x.shape) == 2, "rank"
    if x.shape[0] is None:
        raise ValueError("batch")
    return x
def f(x):
    return tf.transpose(check(x))
f(tf.ones([2, 3]))
