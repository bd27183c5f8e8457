# A captured list is appended to. For the outer function the list is its own.
#
# collect: tensor computes -> to_graph
# collect.add: tensor effects ~computes -> no (side_effects)
import tensorflow as tf


def collect(x):
    parts = []

    def add(t):
        parts.append(t)

    add(x)
    add(x * 2.0)
    return tf.stack(parts)


collect(tf.constant([1.0]))
