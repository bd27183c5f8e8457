# Hints that speak of other things.
# a: -> no
# b: tensor -> no
# c: ~computes -> no
from typing import Callable, Iterable
import numpy as np
import tensorflow as tf
def a(flag: bool, names: list[str]):
    return [n for n in names if flag]
def b(array: np.ndarray):
    return array.shape
def c(make: Callable[[], tf.Tensor]) -> tf.Tensor:
    return tf.abs(make())
c(lambda: tf.ones([1]))
