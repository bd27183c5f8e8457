# A list that lives in one call.
# powers: tensor computes -> to_graph
import tensorflow as tf


def powers(x):
    found = []
    for exponent in range(3):
        found.append(x ** float(exponent))
    return tf.stack(found)


powers(tf.constant([1.0, 2.0]))
