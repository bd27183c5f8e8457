# New ways to write hints.
# a: tensor computes -> to_graph
# b: tensor computes -> to_graph
# c: tensor computes -> to_graph
# d: tensor computes -> to_graph
from __future__ import annotations
from typing import Annotated, NamedTuple, Sequence, TypeVar
import tensorflow as tf
Tensor = tf.Tensor
T = TypeVar("T", bound=tf.Tensor)
def a(x: tf.Tensor | None) -> Tensor:
    return tf.abs(x)
def b(x: Annotated[tf.Tensor, "batch"]) -> Tensor:
    return tf.abs(x)
def c(xs: Sequence[Tensor]) -> Tensor:
    return tf.add_n(xs)
def d(*xs: tf.Tensor) -> Tensor:
    return tf.add_n(xs)
