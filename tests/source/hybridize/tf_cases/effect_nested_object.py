# An object that is reached through an attribute of a parameter.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Stats:
    def __init__(self):
        self.losses = []


class Trainer:
    def __init__(self):
        self.stats = Stats()


def f(trainer, x):
    trainer.stats.losses.append("one more")
    return tf.reduce_sum(x)


f(Trainer(), tf.constant([1.0]))
