# `print` happens once in a graph, `tf.print` always.
# shout: tensor effects computes -> no (side_effects)
# whisper: tensor computes -> to_graph
import sys

import tensorflow as tf


def shout(x):
    print("shape", x.shape)
    return x * 2.0


def whisper(x):
    tf.print("sum", tf.reduce_sum(x), output_stream=sys.stderr)
    return x * 2.0


shout(tf.ones([2]))
whisper(tf.ones([2]))
