# Numbers out of a dataclass.
#
# f: tensor primitive computes -> no (primitive_parameter)
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Config:
    width: int = 3
    rate: float = 0.5


def f(x, rate):
    return x * rate


config = Config()
f(tf.ones([2]), config.rate)
