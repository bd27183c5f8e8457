# Pure functions of the standard library.
#
# f: tensor computes -> to_graph
import functools
import itertools
import math
import operator

import tensorflow as tf


def f(x):
    k = math.sqrt(2.0) * math.pi
    n = functools.reduce(operator.add, itertools.chain([1, 2], [3]))
    return x * k + float(n)


f(tf.constant([1.0]))
