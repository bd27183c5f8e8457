# A list that is made inside is nobody else's business.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    parts = []
    for i in range(3):
        parts.append(x * float(i))
    parts[0] = x
    return tf.stack(parts)


f(tf.constant([1.0]))
