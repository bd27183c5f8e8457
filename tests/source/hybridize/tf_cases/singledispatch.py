# Dispatch on types.
#
# describe: ~tensor ~computes -> ~
# use: tensor computes -> ~
from functools import singledispatch

import tensorflow as tf


@singledispatch
def describe(x):
    return x + 1.0


@describe.register
def _(x: int):
    return x


def use(x):
    return tf.reduce_sum(x)


use(describe(tf.constant([1.0])))
