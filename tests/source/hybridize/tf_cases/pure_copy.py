# Changing a copy of something from outside.
#
# f: tensor computes -> to_graph
import copy

import tensorflow as tf

DEFAULTS = {"scale": 2.0}


def f(x):
    options = dict(DEFAULTS)
    options["shift"] = 1.0
    more = copy.deepcopy(DEFAULTS)
    more["scale"] = 3.0
    names = list(DEFAULTS)
    names.append("x")
    return x * options["scale"] + options["shift"]


f(tf.constant([1.0]))
