# The closure outlives the function that made it.
#
# counter.step: tensor effects computes -> no (side_effects)
import tensorflow as tf


def counter():
    calls = [0]

    def step(x):
        calls[0] += 1
        return x + float(1)

    return step


step = counter()
step(tf.constant(1.0))
