# functools.lru_cache keeps results: an effect on something from outside, but of the cache.
#
# table: primitive ~effects computes -> no
# use: tensor ~effects computes -> ~
import functools

import tensorflow as tf


@functools.lru_cache(maxsize=None)
def table(n):
    return tf.range(float(n))


def use(x):
    return x * table(3)


use(tf.constant(2.0))
