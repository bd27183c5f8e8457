# Clocks, identifiers and random numbers of Python.
#
# f: tensor ~effects computes -> unsafe
# g: tensor ~effects computes -> unsafe
# h: tensor ~effects computes -> unsafe
import random
import time
import uuid

import tensorflow as tf


def f(x):
    return x + time.perf_counter()


def g(x):
    return x * random.choice([1.0, 2.0, 3.0])


def h(x):
    return x + float(uuid.uuid4().int % 97)


f(tf.constant(1.0, tf.float64))
g(tf.constant(1.0))
h(tf.constant(1.0))
