# A dictionary of strategies, chosen by name, applied to tensors.
#
# greedy: tensor computes -> to_graph
# with_temperature: tensor computes -> to_graph
# choose: tensor primitive computes -> no (primitive_parameter)
# decode: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def greedy(logits):
    return tf.argmax(logits, axis=-1)


def with_temperature(logits):
    return tf.argmax(logits / 0.7 + 0.1, axis=-1)


STRATEGIES = {"greedy": greedy, "temperature": with_temperature}


def choose(logits, name):
    return STRATEGIES[name](logits)


def decode(logits, strategy="greedy"):
    return choose(logits, strategy) + 1


for s in ("greedy", "temperature"):
    decode(tf.constant([[0.1, 0.9]]), strategy=s)
