# A lambda of the caller writes.
# apply: tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


def apply(x, hook):
    hook(x)
    return x + 1.0


apply(tf.ones([2]), lambda t: seen.append(t))
