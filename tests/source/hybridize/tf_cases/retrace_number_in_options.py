# Options in a dict, one of them a number.
# smooth: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def smooth(signal, options):
    return signal * options["alpha"] + tf.roll(signal, 1, 0) * (1.0 - options["alpha"])


smooth(tf.range(4.0), {"alpha": 0.3})
