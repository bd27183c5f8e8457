# The effect is two modules away.
#
# step: tensor effects computes -> no (side_effects)
import tensorflow as tf

from helpers import record


def step(x):
    record("step")
    return x * 2.0


step(tf.constant(1.0))
