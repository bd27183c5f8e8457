# A defaultdict and a Counter from outside.
#
# f: tensor effects computes -> no (side_effects)
# g: tensor effects computes -> no (side_effects)
from collections import Counter, defaultdict

import tensorflow as tf

groups = defaultdict(list)
counts = Counter()


def f(x):
    groups["f"].append(1)
    return x + 1.0


def g(x):
    counts["g"] += 1
    return x + 1.0


f(tf.constant(1.0))
g(tf.constant(1.0))
