# Hints that say tensor in other words, on functions that nobody calls.
#
# a: tensor ~primitive computes -> to_graph
# b: tensor ~primitive computes -> to_graph
# c: tensor ~primitive computes -> to_graph
# d: tensor ~primitive computes -> to_graph
# e: tensor ~primitive computes -> to_graph
# f: tensor ~primitive computes -> to_graph
from typing import Sequence, Tuple, Union

import tensorflow as tf
from tensorflow import Tensor as T


def a(x: "T"):
    return x + 1.0


def b(x: Union[tf.Tensor, tf.Variable]):
    return x + 1.0


def c(xs: Sequence[tf.Tensor]):
    return tf.add_n(xs)


def d(pair: Tuple[tf.Tensor, int]):
    return pair[0] * 2.0


def e(x: "tf.Tensor | None" = None):
    return tf.constant(0.0) + (0.0 if x is None else x)


def f(v: tf.Variable):
    return v * 2.0
