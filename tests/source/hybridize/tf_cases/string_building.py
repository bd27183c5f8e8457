# Strings and numbers inside are Python's own business.
#
# f: tensor computes -> to_graph
import tensorflow as tf

NAMES = ("a", "b")


def f(x):
    parts = []
    for i, name in enumerate(NAMES):
        parts.append(f"{name}_{i}")
    label = "/".join(parts).upper()
    with tf.name_scope(label):
        return x * float(len(label)) + sum(range(3))


f(tf.constant(1.0))
