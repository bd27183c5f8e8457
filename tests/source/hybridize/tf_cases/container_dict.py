# A dictionary of tensors.
#
# f: tensor computes -> to_graph
import tensorflow as tf


def f(batch):
    return batch["x"] + batch["y"]


f({"x": tf.constant(1.0), "y": tf.constant(2.0)})
