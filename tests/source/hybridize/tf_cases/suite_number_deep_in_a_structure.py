# The number is in a tuple in a dictionary.
# shifted: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def shifted(given):
    values, by = given["input"]
    return values + by


shifted({"input": (tf.ones([2]), 1)})
shifted({"input": (tf.ones([2]), 2)})
