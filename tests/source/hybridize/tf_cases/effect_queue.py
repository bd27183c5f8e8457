# A deque from outside.
#
# f: tensor effects computes -> no (side_effects)
from collections import deque

import tensorflow as tf

window = deque(maxlen=3)


def f(x):
    window.append(1)
    return x + 1.0


f(tf.constant(1.0))
