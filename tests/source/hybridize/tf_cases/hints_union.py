# Hints of several kinds.
# a: tensor computes -> to_graph
# b: tensor computes -> to_graph
# c: tensor computes -> to_graph
# d: primitive ~computes -> no
from __future__ import annotations
from typing import Dict, List, Optional, Tuple, Union
import tensorflow as tf
def a(x: Optional[tf.Tensor]) -> tf.Tensor:
    return tf.abs(x)
def b(x: Union[tf.Tensor, tf.Variable]):
    return tf.abs(x)
def c(xs: Dict[str, tf.Tensor], more: List[tf.Tensor]):
    return tf.add_n(more) + xs["a"]
def d(n: int, name: str):
    return n * name
