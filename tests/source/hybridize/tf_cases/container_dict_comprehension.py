# A dictionary made by a comprehension.
#
# total: tensor computes -> to_graph
import tensorflow as tf


def total(named):
    return named["a"] + named["b"]


total({key: tf.constant(1.0) for key in ("a", "b")})
